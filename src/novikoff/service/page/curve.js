// What is known of a run: counts after so many examples, and what certificates allow.

import { isNumber } from "./words.js";

const MOST = 1500; // points that are kept

export class Curve {
  points = []; // {examples, mistakes, most, recent}, in order of examples
  certified = new Map(); // number of examples → mistakes allowed on them

  // Points of the history; a bound is that of a certificate of the examples until there.
  static of(history) {
    const curve = new Curve();
    let before = null;
    for (const point of history) {
      curve.add({ ...point, most: point.error_at_most });
      const bound = point.bound;
      const told = isNumber(bound) ? { allowed: bound, examples: point.examples } : bound;
      if (told && told.allowed !== before) curve.allow(told);
      before = told?.allowed ?? null;
    }
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

  // Evenly chosen points, the first and the last among them, for a table.
  some(most) {
    const last = this.points.length - 1;
    const kept = Math.min(last + 1, most);
    const places = Array.from({ length: kept }, (_, k) => Math.round((k * last) / Math.max(kept - 1, 1)));
    return places.map((k) => this.points[k]);
  }
}
