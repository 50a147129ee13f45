// Numbers and certificates as text.

const WHOLE = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });

export const isNumber = (value) => typeof value === "number" && Number.isFinite(value);

// Formats integers in full and other numbers with four digits; a dash for a missing value.
export function shown(value) {
  if (!isNumber(value)) return "–";
  if (Number.isInteger(value) || Math.abs(value) >= 1000) return WHOLE.format(value).replace("-", "−");
  return String(Number(value.toPrecision(4))).replace("-", "−");
}

export const signed = (value) => (value > 0 ? `+${shown(value)}` : shown(value));

export function count(number, what) {
  return `${shown(number)} ${number === 1 ? what.replace(/s$/, "") : what}`;
}

export function percent(value) {
  return isNumber(value) ? `${Number((100 * value).toPrecision(3))}\u00a0%` : "–";
}

// Formats an upper bound in percent, rounded up, so that the displayed bound is true.
export function atMost(value) {
  if (!isNumber(value)) return "–";
  if (value <= 0) return percent(value);
  const unit = 10 ** (Math.floor(Math.log10(100 * value)) - 2);
  return `${Number((Math.ceil((100 * value) / unit - 1e-9) * unit).toPrecision(3))}\u00a0%`;
}

export function rate(value) {
  return isNumber(value) ? shown(value >= 10 ? Math.round(value) : Number(value.toPrecision(2))) : "–";
}

export function milliseconds(value) {
  return isNumber(value) ? `${Number(value.toPrecision(value < 1 ? 2 : 3))}\u00a0ms` : "–";
}

export function bytes(value) {
  if (!isNumber(value)) return "–";
  const units = ["bytes", "kB", "MB", "GB", "TB"];
  let k = 0;
  for (; value >= 1000 && k < units.length - 1; k += 1) value /= 1000;
  return `${Number(value.toPrecision(3))}\u00a0${units[k]}`;
}

export function duration(seconds) {
  if (!isNumber(seconds)) return "–";
  if (seconds < 120) return count(Math.floor(seconds), "seconds");
  if (seconds < 7200) return count(Math.floor(seconds / 60), "minutes");
  if (seconds < 172_800) return count(Math.floor(seconds / 3600), "hours");
  return count(Math.floor(seconds / 86_400), "days");
}

const capital = (name) => name.slice(0, 1).toUpperCase() + name.slice(1);

// Returns the tightest bound that holds for any order of the examples, or else the tightest for this order.
function best(bounds) {
  const stated = bounds.filter((bound) => isNumber(bound.bound));
  const any = stated.filter((bound) => bound.any_order);
  return (any.length > 0 ? any : stated).reduce((a, b) => (a === null || b.bound < a.bound ? b : a), null);
}

// Returns the statements of a certificate as sentences.
export function certificateInWords(document) {
  const seen = document.observed ?? {};
  const said = [];
  if (isNumber(seen.examples) && isNumber(seen.mistakes)) {
    const mistakes = seen.mistakes === 0 ? "no mistake" : count(seen.mistakes, "mistakes");
    said.push(
      `${capital(String(document.learner ?? "the learner"))} made ${mistakes} on ${count(seen.examples, "examples")},` +
        " each predicted before it was learned from (progressive validation).",
    );
  }
  said.push(...allowedInWords(document.bounds ?? [], seen), ...newDataInWords(document.new_data));
  const promised = document.hypothesis;
  if (promised?.sentence && isNumber(promised.bound)) said.push(`The model as it is now: ${promised.sentence} That is if ${promised.assumes}.`);
  return said;
}

function allowedInWords(bounds, seen) {
  const bound = best(bounds);
  if (bound === null) {
    const none = "There is no theorem for this learner with these settings.";
    return [bounds.length > 0 ? "No theorem gives a number for this run: the table of bounds says why." : none];
  }
  const most = Math.floor(bound.bound);
  const order = bound.any_order ? "in any order" : "in this order";
  const text = `The theorems allow at most ${count(most, bound.counts)} on these very examples, ${order} (${bound.name}).`;
  if (bound.verdict === "violated") return [`${text} More were made: that is a defect of novikoff, please report it.`];
  const empty = isNumber(seen.examples) && most >= seen.examples;
  return [empty ? `${text} That is not less than the number of examples, so the bound is vacuous on this stream.` : text];
}

function newDataInWords(said) {
  if (!said || !isNumber(said.mean_error_bound)) return [];
  if (said.mean_error_bound >= 1) return ["There are too few examples to bound the mean error of the hypotheses used while learning."];
  return [
    `The mean error on new data of the hypotheses used while learning is at most ${atMost(said.mean_error_bound)}, with` +
      ` confidence ${percent(1 - said.delta)}, if ${said.assumes} (i.i.d.). It is not the error of the model as it is now.`,
  ];
}
