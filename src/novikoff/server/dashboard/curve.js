// What is known of a run: counts after so many examples, and what certificates allow.

import { isNumber } from "./words.js";

const MOST = 1500; // points that are kept
const CONFIDENT = Math.log(1 / 0.05);

// M/m + √(ln(1/δ)/(2m)), theory.conversion.progressive with δ = 0.05, a hair above.
const progressive = ({ mistakes, examples }) =>
  (mistakes / examples + Math.sqrt(CONFIDENT / (2 * examples))) * (1 + 1e-12);

export class Curve {
  points = []; // {examples, mistakes, most, recent}, in order of examples
  certified = new Map(); // number of examples → mistakes allowed on them

  // Points of the history. Their bounds don't say on how many examples they hold: those of the events do.
  static of(history) {
    const curve = new Curve();
    for (const { examples, mistakes } of history) curve.add({ examples, mistakes });
    return curve;
  }

  get last() {
    return this.points.at(-1) ?? null;
  }

  // True where this says something new.
  add({ examples, mistakes, most, recent }) {
    if (!isNumber(examples) || !isNumber(mistakes)) return false;
    const point = { examples, mistakes, most: isNumber(most) ? most : null, recent: isNumber(recent) ? recent : null };
    if (this.last !== null && examples < this.last.examples) return false;
    if (this.last?.examples === examples) {
      const { most: oldMost, recent: oldRecent } = this.last;
      Object.assign(this.last, point, { most: point.most ?? oldMost, recent: point.recent ?? oldRecent });
      return point.most !== oldMost || point.recent !== oldRecent;
    }
    this.points.push(point);
    if (this.points.length > MOST) this.#thin();
    return true;
  }

  // Every other point of the older half goes.
  #thin() {
    const half = this.points.length >> 1;
    this.points = this.points.filter((_, k) => k >= half || k % 2 === 0);
  }

  allow({ allowed, examples }) {
    if (isNumber(allowed) && isNumber(examples)) this.certified.set(examples, allowed);
  }

  // The newest certificate: {examples, allowed}, or null.
  get bound() {
    const examples = Math.max(-1, ...this.certified.keys());
    return examples < 0 ? null : { examples, allowed: this.certified.get(examples) };
  }

  // What is allowed, as steps. Mistakes never become fewer, so a certificate holds for every beginning of its stream,
  // too; beyond its last example it says nothing.
  steps() {
    const ends = [...this.certified.keys()].sort((a, b) => b - a);
    const corners = [];
    let least = Infinity;
    for (const [k, end] of ends.entries()) {
      least = Math.min(least, this.certified.get(end));
      corners.unshift([ends[k + 1] ?? 0, least], [end, least]);
    }
    return corners;
  }

  mistakes() {
    return [[0, 0], ...this.points.map((point) => [point.examples, point.mistakes])];
  }

  errors(of) {
    const seen = this.points.filter((point) => point.examples > 0 && of(point) !== null);
    return seen.map((point) => [point.examples, Math.min(1, of(point))]);
  }

  // What the mean error is at most, or null. The server says it of now only. Of earlier points it is reckoned here, but
  // only where the same formula gives what the server says: where it says nothing, nothing is drawn.
  most = (point) => {
    if (point.most !== null || point.examples === 0 || !isNumber(this.last?.most)) return point.most;
    return Math.abs(progressive(this.last) - this.last.most) < 1e-9 ? progressive(point) : null;
  };

  // Evenly chosen points, the first and the last among them, for a table.
  some(most) {
    const last = this.points.length - 1;
    const kept = Math.min(last + 1, most);
    const places = Array.from({ length: kept }, (_, k) => Math.round((k * last) / Math.max(kept - 1, 1)));
    return places.map((k) => this.points[k]);
  }
}
