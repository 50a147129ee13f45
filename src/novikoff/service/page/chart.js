// Lines over examples, drawn in SVG at the size that the page has for them.

import { drawn } from "./elements.js";
import { shown } from "./words.js";

const HEIGHT = 300;
const MARGIN = { left: 56, right: 14, top: 12, bottom: 42 };
const SHORT = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 2 });

export const short = (value) => (Math.abs(value) >= 10_000 ? SHORT.format(value) : shown(value));

// Round numbers from low to high, about as many as asked for.
export function ticks(low, high, about) {
  const step = (high - low) / about;
  const unit = 10 ** Math.floor(Math.log10(step));
  const wide = [1, 2, 5, 10].map((times) => times * unit).find((one) => one >= step);
  const found = [];
  for (let k = Math.ceil(low / wide - 1e-9); k * wide <= high * (1 + 1e-9); k += 1) found.push(k * wide);
  return found;
}

function decades(low, high) {
  const found = [];
  for (let value = 10 ** Math.ceil(Math.log10(low) - 1e-9); value <= high * (1 + 1e-9); value *= 10) found.push(value);
  if (found.length > 3) return found;
  return [1, 2, 5].flatMap((times) => [low / 10, ...found].map((one) => times * 10 ** Math.floor(Math.log10(one) + 1e-9)))
    .filter((one, k, all) => one >= low && one <= high && all.indexOf(one) === k)
    .sort((a, b) => a - b);
}

// From values to places, linear or by their logarithm.
function scale(low, high, from, to, log) {
  const [a, b] = log ? [Math.log(low), Math.log(high)] : [low, high];
  const place = (value) => from + (((log ? Math.log(value) : value) - a) / (b - a || 1)) * (to - from);
  return { place, fits: (value) => Number.isFinite(value) && (!log || value >= low), low, high, log };
}

function path(points, x, y) {
  const seen = points.filter(([a, b]) => x.fits(a) && y.fits(b));
  return seen.map(([a, b], k) => `${k === 0 ? "M" : "L"}${x.place(a).toFixed(1)} ${y.place(b).toFixed(1)}`).join("");
}

// A chart in an <svg>. `lines`: [{look, points: [[x, y], …]}], the last on top; `top`: the highest y that is shown;
// `written`: how y is written at its axis.
export class Chart {
  #told = null;
  #frame = 0;

  constructor(svg) {
    this.svg = svg;
    new ResizeObserver(() => this.#soon()).observe(svg.parentElement);
  }

  show(told) {
    this.#told = told;
    this.#soon();
  }

  #soon() {
    cancelAnimationFrame(this.#frame);
    this.#frame = requestAnimationFrame(() => this.#told && this.#draw(this.#told));
  }

  #draw({ lines, right, top, titles, written = short, log = false, described, note = "" }) {
    const width = Math.max(this.svg.parentElement.clientWidth, 200);
    const edge = { left: MARGIN.left, right: width - MARGIN.right, top: MARGIN.top, bottom: HEIGHT - MARGIN.bottom };
    const x = scale(log ? 1 : 0, Math.max(right, log ? 2 : 1), edge.left, edge.right, log);
    const y = scale(log ? 1 : 0, log ? Math.max(top, 2) : top, edge.bottom, edge.top, log);
    this.svg.setAttribute("viewBox", `0 0 ${width} ${HEIGHT}`);
    this.svg.setAttribute("width", width);
    this.svg.setAttribute("height", HEIGHT);
    this.svg.setAttribute("aria-label", described);
    this.svg.replaceChildren(
      ...this.#down(y, edge, written),
      ...this.#across(x, edge, Math.max(2, Math.floor(width / 110))),
      drawn("text", { class: "title", x: edge.right, y: HEIGHT - 6, "text-anchor": "end" }, titles.x),
      drawn("text", { class: "title", x: edge.left + 6, y: edge.top + 8 }, titles.y),
      ...lines.map((line) => drawn("path", { class: `line ${line.look}`, d: path(line.points, x, y) })),
      ...lines.flatMap((line) => this.#lone(line, x, y)),
      ...(note === "" ? [] : [drawn("text", { class: "note", x: edge.right, y: edge.top + 8, "text-anchor": "end" }, note)]),
    );
  }

  // A line of one point would not be seen.
  #lone({ look, points }, x, y) {
    if (points.length !== 1 || !x.fits(points[0][0]) || !y.fits(points[0][1])) return [];
    return [drawn("circle", { class: `dot ${look}`, cx: x.place(points[0][0]), cy: y.place(points[0][1]), r: 3.5 })];
  }

  #down(y, edge, written) {
    return (y.log ? decades(y.low, y.high) : ticks(y.low, y.high, 5)).flatMap((value) => {
      const place = y.place(value).toFixed(1);
      return [
        drawn("line", { class: "grid", x1: edge.left, x2: edge.right, y1: place, y2: place }),
        drawn("text", { class: "tick", x: edge.left - 8, y: place, dy: "0.35em", "text-anchor": "end" }, written(value)),
      ];
    });
  }

  #across(x, edge, about) {
    return (x.log ? decades(x.low, x.high) : ticks(x.low, x.high, about)).filter(Number.isInteger).flatMap((value) => {
      const place = x.place(value).toFixed(1);
      return [
        drawn("line", { class: "grid", x1: place, x2: place, y1: edge.top, y2: edge.bottom }),
        drawn("text", { class: "tick", x: place, y: edge.bottom + 16, "text-anchor": "middle" }, short(value)),
      ];
    });
  }
}
