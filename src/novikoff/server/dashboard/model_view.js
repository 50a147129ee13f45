// The view of the selected model: its numbers, curves and weights, and the other models of its stream.

import { ask, ofModel } from "./api.js";
import { Chart } from "./chart.js";
import { Curve } from "./curve.js";
import { at, drawn, make, plain, put, say } from "./dom.js";
import { showLabels } from "./forms.js";
import { atMost, count, isNumber, percent, shown, signed } from "./text.js";

const TOP = 15; // weights
const ROWS = 12; // of the table of points
const FAR = 10; // a bound above this multiple of the mistakes is not drawn: it would flatten the curve
const REFRESH_INTERVAL = 5000; // ms between requests for the weights

export class ModelView {
  #model = null;
  #curve = new Curve();
  #seen = null; // number of updates at the last request for the weights
  #mistakes = new Chart(at("mistakes-chart"));
  #errors = new Chart(at("errors-chart"));

  constructor() {
    at("log").addEventListener("change", () => this.#draw());
    at("points").addEventListener("toggle", () => this.#draw());
    at("refresh").addEventListener("click", () => this.look());
    setInterval(() => document.visibilityState === "visible" && this.#changed() && this.look(), REFRESH_INTERVAL);
  }

  get model() {
    return this.#model;
  }

  // Selects another model, or reloads the same one, with its history from the server.
  async choose(model) {
    const other = this.#model?.name !== model?.name;
    this.#model = model;
    at("chosen").hidden = model === null;
    if (model === null) return;
    if (other) {
      this.#curve = new Curve();
      this.#seen = null;
      at("stream").hidden = true;
      at("weights-table").hidden = true;
      for (const id of ["weights-said", "history-said"]) say(at(id), "");
    }
    this.#numbers();
    this.#draw();
    try {
      const { points } = await ask(ofModel(model.name, "/history"));
      if (this.#model?.name !== model.name) return;
      this.#curve = Curve.of(points);
      say(at("history-said"), "");
    } catch (problem) {
      if (this.#model?.name === model.name) say(at("history-said"), problem.message, true);
    }
    if (this.#model?.name !== model.name) return;
    this.update(this.#model);
    if (this.#changed()) await this.look();
  }

  // Shows the data of the latest event.
  update(model) {
    this.#model = model;
    if (this.#curve.last !== null && model.examples < this.#curve.last.examples) this.#curve = new Curve();
    this.#curve.add({ ...model, most: model.mean_error_bound, recent: model.recent?.progressive_error });
    const certificate = model.certificate;
    if (certificate?.bound) this.#curve.allow({ allowed: certificate.bound.bound, examples: certificate.examples });
    this.#numbers();
    this.#draw();
  }

  #numbers() {
    const model = this.#model;
    put(at("chosen-name"), plain(model.name));
    put(at("chosen-what"), about(model));
    say(at("chosen-warnings"), (model.warnings ?? []).map((warning) => plain(warning, 2000)).join(" "), true);
    put(at("made"), shown(model.mistakes));
    put(at("made-of"), `of ${count(model.examples, "examples")}; ${count(model.updates, "updates")}`);
    const bound = model.certificate?.bound;
    put(at("allowed"), bound ? shown(Math.floor(bound.bound)) : "–");
    put(at("allowed-on"), certified(model.certificate));
    put(at("statement"), bound?.statement ? `Latest certificate: ${plain(bound.statement)}.` : "");
    put(at("error"), model.examples > 0 ? percent(model.progressive_error) : "–");
    const before = model.uploaded ? "; includes the run before the upload" : "";
    put(at("error-of"), `of the run: ${shown(model.mistakes)} of ${count(model.examples, "predictions")} made while learning were wrong${before}`);
    put(at("recent"), model.recent?.examples > 0 ? percent(model.recent.progressive_error) : "–");
    put(at("recent-of"), model.recent ? `of the run, on its last ${count(model.recent.examples, "examples")}` : "");
    put(at("pending"), shown(model.pending));
    const late = isNumber(model.labelled_late) ? model : { labelled_late: 0, expired: 0, refused: 0 };
    put(at("late"), `${shown(late.labelled_late)} labelled late, ${shown(late.expired)} expired, ${shown(late.refused)} refused`);
  }

  #draw() {
    const { last, bound } = this.#curve;
    if (this.#model === null) return;
    const log = at("log").checked;
    const made = last?.mistakes ?? 0;
    const far = bound !== null && !log && bound.allowed > FAR * Math.max(made, 1);
    const examples = Math.max(last?.examples ?? 0, bound?.examples ?? 0);
    const most = bound === null ? "" : `; at most ${shown(Math.floor(bound.allowed))} are allowed on the first ${shown(bound.examples)}`;
    this.#mistakes.show({
      lines: [
        { look: "allowed", points: far || bound === null ? [] : this.#curve.steps() },
        { look: "made", points: this.#curve.mistakes() },
      ],
      right: examples,
      top: Math.max(made * 1.15, 4, bound === null || far ? 0 : bound.allowed * 1.1),
      log,
      titles: { x: "examples", y: "mistakes" },
      read: (x, y) => `${count(y, "mistakes")} after ${count(x, "examples")}`,
      note: far ? `allowed: ${shown(Math.floor(bound.allowed))}, far above ↑` : "",
      described: `Mistakes over examples: ${shown(made)} after ${shown(last?.examples ?? 0)} examples${most}.`,
    });
    this.#drawErrors(examples);
    if (at("points").open) this.#points();
  }

  #drawErrors(examples) {
    const { last } = this.#curve;
    const lines = [
      { look: "most", points: this.#curve.errors(this.#curve.most) },
      { look: "lately", points: this.#curve.errors((point) => point.recent) },
      { look: "made", points: this.#curve.errors((point) => point.mistakes / point.examples) },
    ];
    // The error on the first few examples is often 1 and says little: the later points determine the axis.
    const later = lines.flatMap((line) => line.points.filter(([at]) => at >= examples / 5).map(([, error]) => error));
    const error = last !== null && last.examples > 0 ? last.mistakes / last.examples : null;
    this.#errors.show({
      lines,
      right: examples,
      top: Math.min(1, Math.max(0.01, 1.15 * Math.max(0, ...later))),
      titles: { x: "examples", y: "progressive error" },
      read: (x, y) => `${percent(y)} after ${count(x, "examples")}`,
      written: (value) => percent(value),
      described:
        error === null
          ? "Progressive error over examples: nothing has been learned yet."
          : `Progressive error over examples: ${percent(error)} so far, ${percent(last.recent)} recently;` +
            ` mean error of the hypotheses used at most ${atMost(last.most)}.`,
    });
  }

  #points() {
    const rows = this.#curve.some(ROWS).map((point) => {
      const error = point.examples > 0 ? percent(point.mistakes / point.examples) : "–";
      const most = this.#curve.most(point);
      const texts = [shown(point.examples), shown(point.mistakes), error, most !== null && most < 1 ? atMost(most) : "–"];
      return make("tr", {}, ...texts.map((text) => make("td", {}, text)));
    });
    at("points-body").replaceChildren(...rows);
  }

  #changed() {
    return this.#model !== null && this.#model.examples > 0 && this.#model.updates !== this.#seen;
  }

  // Requests the weights, and the counts of all models of the stream.
  async look() {
    const { name, updates } = this.#model;
    this.#seen = updates;
    try {
      const [inspection, ledger] = await Promise.all([
        ask(ofModel(name, `/inspect?top=${TOP}`)),
        ask(ofModel(name, "/ledger")),
      ]);
      if (this.#model?.name !== name) return;
      const { labels, features } = inspection;
      Object.assign(this.#model, labels && { labels }, features !== undefined && { features });
      showLabels(this.#model.labels ?? []);
      this.#numbers();
      showWeights(inspection);
      showStream(ledger.stream ?? []);
    } catch (problem) {
      if (this.#model?.name === name) say(at("weights-said"), problem.message, true);
    }
  }
}

// Returns the caption of the bound's tile, or the reason for having no bound.
function certified(certificate) {
  if (!certificate) return "not certified yet";
  const { bound, examples, reason } = certificate;
  if (!bound) return plain(reason, 300);
  return `${plain(bound.counts)} at most, in the run of the first ${count(examples, "examples")}`;
}

function about(model) {
  const settings = Object.entries(model.settings ?? {}).map(([key, value]) => `${key} ${JSON.stringify(value)}`);
  const labels = (model.labels ?? []).map((label) => plain(label, 60));
  const some = labels.length > 20 ? [...labels.slice(0, 20), "…"] : labels;
  return [
    `${model.learner}, ${model.role === "challenger" ? `challenges ${model.challenges}` : "champion"}`,
    settings.length > 0 ? plain(settings.join(", "), 400) : "",
    labels.length > 0 ? `labels: ${some.join(", ")}` : "no labels yet",
    isNumber(model.features) ? count(model.features, "features") : "",
  ]
    .filter((part) => part !== "")
    .join(" · ");
}

function showWeights(inspection) {
  const found = inspection.weights ?? [];
  const none = inspection.weights === null ? inspection.hypothesis || "There is no single weight vector." : "All weights are 0.";
  const meaning = `Importance is |weight| × standard deviation of the feature, from ${count(inspection.sampled_examples ?? 0, "sampled examples")}.`;
  say(at("weights-said"), found.length > 0 ? meaning : plain(none, 2000));
  at("weights-table").hidden = found.length === 0;
  const many = found.some((weight) => weight.speaks_for !== undefined);
  at("speaks-for").hidden = !many;
  const largest = Math.max(...found.map((weight) => weight.importance ?? 0)) || 1;
  at("weights-body").replaceChildren(
    ...found.map(({ feature, weight, importance, speaks_for: speaksFor }) => {
      const row = make("tr", {}, make("th", { scope: "row" }, make("span", { class: "name" }, plain(feature))));
      if (many) row.append(make("td", { class: "name" }, plain(speaksFor ?? "–")));
      const share = (Math.sign(weight) * (importance ?? 0)) / largest;
      row.append(make("td", {}, isNumber(importance) ? shown(importance) : "unknown"));
      row.append(make("td", { class: "bar" }, bar(share)), make("td", {}, signed(weight)));
      return row;
    }),
  );
}

// Draws an importance as a bar from the middle, to the right for positive weights and to the left for negative ones.
function bar(share) {
  const look = share < 0 ? "less" : "more";
  const wide = Math.abs(share) * 49;
  return drawn(
    "svg",
    { viewBox: "0 0 100 10", width: 100, height: 10, "aria-hidden": "true" },
    drawn("rect", { class: look, x: share < 0 ? 50 - wide : 50, y: 1, width: wide.toFixed(1), height: 8 }),
    drawn("line", { class: "zero", x1: 50, x2: 50, y1: 0, y2: 10 }),
  );
}

function showStream(stream) {
  at("stream").hidden = stream.length < 2;
  at("stream-body").replaceChildren(
    ...stream.map((one) => {
      const since = one.since_joined;
      const joined = since
        ? `${count(since.mistakes, "mistakes")} on ${count(since.examples, "examples")}; the champion ${shown(since.champion_mistakes)}`
        : "–";
      const texts = [one.role, shown(one.examples), shown(one.mistakes), shown(one.updates), percent(one.progressive_error), joined];
      const name = make("th", { scope: "row" }, make("span", { class: "name" }, plain(one.name)));
      return make("tr", {}, name, ...texts.map((text, k) => make("td", k % 5 === 0 ? { class: "words" } : {}, plain(text))));
    }),
  );
}
