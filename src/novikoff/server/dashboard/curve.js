// The history of a run: counts over examples, and the bounds of certificates.

import { isNumber } from "./text.js";

const MAX_POINTS = 1500;
const CONFIDENT = Math.log(1 / 0.05);

// M/m + √(ln(1/δ)/(2m)), theory.online_to_batch.progressive with δ = 0.05, slightly rounded up.
const progressive = ({ mistakes, examples }) =>
  (mistakes / examples + Math.sqrt(CONFIDENT / (2 * examples))) * (1 + 1e-12);

export class Curve {
  points = []; // {examples, mistakes, most, recent}, in order of examples
  certified = new Map(); // number of examples → mistakes allowed on them

  // Creates a curve from the history. Its bounds lack the number of certified examples, so those of events are used.
  static of(history) {
    const curve = new Curve();
    for (const { examples, mistakes } of history) curve.add({ examples, mistakes });
    return curve;
  }

  get last() {
    return this.points.at(-1) ?? null;
  }

  // Adds a point; returns whether it changed the curve.
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
    if (this.points.length > MAX_POINTS) this.#thin();
    return true;
  }

  // Removes every second point of the older half.
  #thin() {
    const half = this.points.length >> 1;
    this.points = this.points.filter((_, k) => k >= half || k % 2 === 0);
  }

  allow({ allowed, examples }) {
    if (isNumber(allowed) && isNumber(examples)) this.certified.set(examples, allowed);
  }

  // The latest certificate: {examples, allowed}, or null.
  get bound() {
    const examples = Math.max(-1, ...this.certified.keys());
    return examples < 0 ? null : { examples, allowed: this.certified.get(examples) };
  }

  // The corners of the allowed mistakes as a step function. Mistakes never decrease, so a certificate also holds for
  // every prefix of its stream. It says nothing about later examples.
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

  // The bound for the mean error, or null. The server sends it for the current point only. For earlier points it is
  // computed here, but only if the same formula reproduces the current value of the server.
  most = (point) => {
    if (point.most !== null || point.examples === 0 || !isNumber(this.last?.most)) return point.most;
    return Math.abs(progressive(this.last) - this.last.most) < 1e-9 ? progressive(point) : null;
  };

  // Returns evenly spaced points for a table, including the first and the last.
  some(most) {
    const last = this.points.length - 1;
    const kept = Math.min(last + 1, most);
    const places = Array.from({ length: kept }, (_, k) => Math.round((k * last) / Math.max(kept - 1, 1)));
    return places.map((k) => this.points[k]);
  }
}
