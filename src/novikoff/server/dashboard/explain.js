// The table that explains a prediction: the contribution of each feature to the score.

import { at, make, plain, say } from "./dom.js";
import { isNumber, percent, shown, signed } from "./text.js";

const TOP = 50; // features

// Hides the table of an earlier explanation.
export function hideExplanation() {
  at("explanation").hidden = true;
  say(at("explained"), "");
}

// Shows what the server answered to a request with `explain`.
export function showExplanation({ score, explanation }) {
  say(at("explained"), inWords(explanation, score));
  const { bias, contributions } = explanation;
  const rows = contributions.slice(0, TOP).map((one) => row(one.feature, shown(one.value), signed(one.weight), one.contribution));
  const rest = contributions.slice(TOP);
  if (rest.length > 0) rows.push(row(`${shown(rest.length)} more`, "", "", sum(rest)));
  rows.push(row("(bias)", "", "", bias));
  at("explanation-body").replaceChildren(...rows);
  at("explanation").hidden = false;
}

const sum = (contributions) => contributions.reduce((total, one) => total + one.contribution, 0);

function row(feature, value, weight, contribution) {
  return make(
    "tr",
    {},
    make("th", { scope: "row" }, make("span", { class: "name" }, plain(feature))),
    ...[value, weight, signed(contribution)].map((text) => make("td", {}, text)),
  );
}

function inWords({ label, against, predicted, score: total, probability }, score) {
  const named = (one) => `“${plain(Array.isArray(one) ? one.join(", ") || "no label" : one, 60)}”`;
  const said = [predicted === undefined ? `Score ${shown(score)}.` : `Predicted ${named(predicted)}, score ${shown(score)}.`];
  if (label !== undefined) {
    const other = against === undefined ? "" : ` against ${named(against)}`;
    said.push(`Bias and contributions add up to ${signed(total)} for ${named(label)}${other}.`);
  }
  if (isNumber(probability)) said.push(`The probability of ${named(label)} is ${percent(probability)}.`);
  return said.join(" ");
}
