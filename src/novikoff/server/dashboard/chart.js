// Line charts over examples, drawn in SVG at the size of their container.

import { drawn } from "./dom.js";
import { shown } from "./text.js";

const HEIGHT = 300;
const MARGIN = { left: 56, right: 14, top: 28, bottom: 42 };
const SHORT = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 2 });

export const short = (value) => (Math.abs(value) >= 10_000 ? SHORT.format(value) : shown(value));

// Returns about `about` round numbers from low to high.
export function ticks(low, high, about) {
  const step = (high - low) / about;
  const unit = 10 ** Math.floor(Math.log10(step));
  const wide = [1, 2, 5, 10].map((times) => times * unit).find((one) => one >= step);
  const found = [];
  for (let k = Math.ceil(low / wide - 1e-9); k * wide <= high * (1 + 1e-9); k += 1) found.push(k * wide + 0); // −0 is 0
  return found;
}

// Returns powers of ten up to high; if there are at most three, also two and five times each.
function decades(high) {
  const powers = Array.from({ length: Math.floor(Math.log10(high) + 1e-9) + 1 }, (_, k) => 10 ** k);
  if (powers.length > 3) return powers;
  return powers.flatMap((power) => [power, 2 * power, 5 * power]).filter((value) => value <= high);
}

// Maps values to positions, linearly or by their logarithm.
function scale(low, high, from, to, log) {
  const [a, b] = log ? [Math.log(low), Math.log(high)] : [low, high];
  const place = (value) => from + (((log ? Math.log(Math.max(value, low)) : value) - a) / (b - a || 1)) * (to - from);
  return { place, fits: (value) => Number.isFinite(value) && (!log || value >= low), low, high, log };
}

// The logarithm of 0 is undefined: points at 0 are left out, so the line starts at the edge.
function path(points, x, y) {
  const seen = points.filter(([, b]) => y.fits(b));
  return seen.map(([a, b], k) => `${k === 0 ? "M" : "L"}${x.place(a).toFixed(1)} ${y.place(b).toFixed(1)}`).join("");
}

// A chart in an <svg>. `lines`: [{look, points: [[x, y], …]}], the last one on top; `top`: the maximum of the y axis;
// `written(y)`: the label of a tick of the y axis; `read(x, y)`: the tooltip for a point of the last line.
export class Chart {
  #data = null;
  #frame = 0;
  #pointed = null; // px from the left

  constructor(svg) {
    this.svg = svg;
    for (const kind of ["pointermove", "pointerdown"]) svg.addEventListener(kind, (event) => this.#point(event.clientX));
    svg.addEventListener("pointerleave", () => this.#point(null));
    new ResizeObserver(() => this.#soon()).observe(svg.parentElement);
  }

  show(data) {
    this.#data = data;
    this.#soon();
  }

  #point(at) {
    this.#pointed = at === null ? null : at - this.svg.getBoundingClientRect().left;
    this.#soon();
  }

  #soon() {
    cancelAnimationFrame(this.#frame);
    this.#frame = requestAnimationFrame(() => this.#data && this.#draw(this.#data));
  }

  #draw({ lines, right, top, titles, written = short, log = false, described, read, note = "" }) {
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
      drawn("text", { class: "title", x: 4, y: 14 }, titles.y),
      this.#inside(
        edge,
        lines.map((line) => drawn("path", { class: `line ${line.look}`, d: path(line.points, x, y) })),
        lines.flatMap((line) => this.#lone(line, x, y)),
      ),
      ...this.#nearest(lines.at(-1), x, y, edge, read, note),
    );
  }

  // The tooltip of the point nearest to the pointer, or else the note.
  #nearest({ look, points }, x, y, edge, read, note) {
    const text = (words) => drawn("text", { class: "note", x: edge.right, y: 14, "text-anchor": "end" }, words);
    const seen = points.filter(([a, b]) => x.fits(a) && y.fits(b));
    if (this.#pointed === null || seen.length === 0) return note === "" ? [] : [text(note)];
    const far = ([a]) => Math.abs(x.place(a) - this.#pointed);
    const [a, b] = seen.reduce((best, one) => (far(one) < far(best) ? one : best));
    const place = x.place(a).toFixed(1);
    return [
      drawn("line", { class: "pointer", x1: place, x2: place, y1: edge.top, y2: edge.bottom }),
      drawn("circle", { class: `dot ${look}`, cx: place, cy: Math.max(edge.top, y.place(b)).toFixed(1), r: 4 }),
      text(read(a, b)),
    ];
  }

  // Clips lines at the edges of the plot, with a margin so that a line on an edge keeps its full width.
  #inside({ left, right, top, bottom }, lines, dots) {
    const [x, y, width, height] = [left - 3, top - 3, right - left + 6, bottom - top + 6];
    return drawn("svg", { x, y, width, height, viewBox: `${x} ${y} ${width} ${height}` }, ...lines, ...dots);
  }

  // A line with one point is drawn as a dot.
  #lone({ look, points }, x, y) {
    if (points.length !== 1 || !x.fits(points[0][0]) || !y.fits(points[0][1])) return [];
    return [drawn("circle", { class: `dot ${look}`, cx: x.place(points[0][0]), cy: y.place(points[0][1]), r: 3.5 })];
  }

  #down(y, edge, written) {
    return (y.log ? decades(y.high) : ticks(y.low, y.high, 5)).flatMap((value) => {
      const place = y.place(value).toFixed(1);
      return [
        drawn("line", { class: "grid", x1: edge.left, x2: edge.right, y1: place, y2: place }),
        drawn("text", { class: "tick", x: edge.left - 8, y: place, dy: "0.35em", "text-anchor": "end" }, written(value)),
      ];
    });
  }

  #across(x, edge, about) {
    return (x.log ? decades(x.high) : ticks(x.low, x.high, about)).filter(Number.isInteger).flatMap((value) => {
      const place = x.place(value).toFixed(1);
      return [
        drawn("line", { class: "grid", x1: place, x2: place, y1: edge.top, y2: edge.bottom }),
        drawn("text", { class: "tick", x: place, y: edge.bottom + 16, "text-anchor": "middle" }, short(value)),
      ];
    });
  }
}
