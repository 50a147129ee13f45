// The table of models: each champion with its challengers below. The URL fragment #model/NAME selects a model.

import { at, make, plain, put } from "./dom.js";
import { percent, shown } from "./text.js";

const COLUMNS = ["Role", "Learner", "Examples", "Mistakes", "Updates", "Progressive error", "Recent progressive error", "Pending"];

const CHOSEN = "#model/";

export const address = (name) => CHOSEN + encodeURIComponent(name);

// Returns the model name in the URL fragment, or null.
export function addressed() {
  if (!location.hash.startsWith(CHOSEN)) return null;
  const text = location.hash.slice(CHOSEN.length);
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

// Sorts champions by name, and puts challengers after their champion.
export function inOrder(models) {
  const named = (a, b) => (a.name < b.name ? -1 : 1);
  const all = [...models].sort(named);
  const known = new Set(all.map((model) => model.name));
  const leads = (model) => model.role !== "challenger" || !known.has(model.challenges);
  return all.filter(leads).flatMap((one) => [one, ...all.filter((m) => !leads(m) && m.challenges === one.name)]);
}

function cells(model) {
  const role = model.role === "challenger" && model.challenges ? `challenges ${model.challenges}` : (model.role ?? "–");
  return [
    role,
    model.learner,
    shown(model.examples),
    shown(model.mistakes),
    shown(model.updates),
    model.examples > 0 ? percent(model.progressive_error) : "–",
    model.recent?.examples > 0 ? percent(model.recent.progressive_error) : "–",
    shown(model.pending),
  ];
}

export class List {
  #rows = new Map();

  show(models, chosen) {
    const ordered = inOrder(models);
    at("no-models").hidden = ordered.length > 0;
    at("models-table").hidden = ordered.length === 0;
    const rows = ordered.map((model) => this.#row(model, model.name === chosen));
    const body = at("models-body");
    if (rows.length !== body.children.length || rows.some((row, k) => row !== body.children[k])) {
      body.replaceChildren(...rows);
    }
    const names = new Set(ordered.map((model) => model.name));
    for (const name of this.#rows.keys()) if (!names.has(name)) this.#rows.delete(name);
  }

  #row(model, chosen) {
    let row = this.#rows.get(model.name);
    if (row === undefined) {
      const link = make("a", { href: address(model.name), class: "name" }, plain(model.name));
      const rest = COLUMNS.map((title) => make("td", { role: "cell", "data-head": title }));
      // On phones the table is displayed as cards; the roles keep it a table for screen readers.
      row = make("tr", { role: "row" }, make("th", { scope: "row", role: "rowheader" }, link), ...rest);
      this.#rows.set(model.name, row);
    }
    const link = row.firstChild.firstChild;
    if (chosen) link.setAttribute("aria-current", "true");
    else link.removeAttribute("aria-current");
    row.classList.toggle("challenger", model.role === "challenger");
    for (const [k, text] of cells(model).entries()) put(row.children[k + 1], plain(text ?? "–"));
    return row;
  }
}
