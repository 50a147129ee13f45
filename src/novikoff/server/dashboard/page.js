// The entry point of the dashboard: connects the event stream, the list of models, the model view and the forms.

import { ask } from "./api.js";
import { certifying, forget } from "./certify.js";
import { ModelView } from "./model_view.js";
import { at, plain, put, say } from "./dom.js";
import { hideExplanation } from "./explain.js";
import { createForm, showChampions, showLabels, tokenForm, tryForms } from "./forms.js";
import { List, address, addressed } from "./list.js";
import { Live } from "./events.js";
import { bytes, duration, isNumber, milliseconds, rate } from "./text.js";

const RELOAD_INTERVAL = 5000; // ms between reloads of the list while it differs from the events

const list = new List();
const chosen = new ModelView();
const models = new Map(); // name → data from GET /v1/models and the events
let asked = 0; // time of the last request for the list

// --- The list ---

async function load() {
  asked = performance.now();
  let loaded;
  try {
    loaded = (await ask("models")).models;
  } catch (problem) {
    if (!problem.wantsToken) say(at("said"), problem.message, true);
    return;
  }
  say(at("said"), "");
  const names = new Set(loaded.map((model) => model.name));
  for (const name of models.keys()) if (!names.has(name)) models.delete(name);
  for (const model of loaded) {
    const before = models.get(model.name);
    const same = before?.created === model.created;
    models.set(model.name, { ...(same ? before : {}), ...model, ...model.ledger });
  }
  at("loading").hidden = true;
  if (models.size === 0) at("create").open = true;
  choose();
}

function show() {
  list.show(models.values(), chosen.model?.name);
  showChampions([...models.values()].filter((model) => model.role !== "challenger").map((model) => model.name).sort());
}

function choose() {
  const wanted = addressed();
  const missing = wanted !== null && !models.has(wanted);
  if (missing && models.size > 0) say(at("said"), `There is no model named “${plain(wanted)}”.`, true);
  const first = [...models.keys()].sort()[0];
  const model = models.get(wanted) ?? models.get(chosen.model?.name) ?? models.get(first);
  if (wanted === null && model !== undefined) history.replaceState(null, "", address(model.name));
  if (model?.name !== chosen.model?.name) {
    forget();
    for (const id of ["tried", "late-said"]) say(at(id), "");
    hideExplanation();
    at("late-id").value = "";
  }
  chosen.choose(model ?? null);
  showLabels(model?.labels ?? []);
  show();
}

// --- Events ---

function heard(snapshot) {
  let unknown = false;
  for (const live of snapshot.models ?? []) {
    const model = models.get(live.name);
    if (model === undefined || model.role !== live.role) unknown = true;
    if (model !== undefined) models.set(live.name, { ...model, ...live });
  }
  const gone = (snapshot.models ?? []).length < models.size;
  const labelled = chosen.model !== null && chosen.model.examples > 0 && (chosen.model.labels ?? []).length === 0;
  if (unknown || ((gone || labelled) && performance.now() - asked > RELOAD_INTERVAL)) load();
  const model = models.get(chosen.model?.name);
  if (model !== undefined) chosen.update(model);
  show();
  if (snapshot.server) showServer(snapshot.server);
}

function showServer(status) {
  put(at("learned-rate"), rate(status.learned_per_second));
  put(at("predicted-rate"), rate(status.predicted_per_second));
  put(at("predict-ms"), milliseconds(status.predict_ms?.p50));
  put(at("predict-p99"), within(status.predict_ms?.p99));
  put(at("learn-ms"), milliseconds(status.learn_ms?.p50));
  put(at("learn-p99"), within(status.learn_ms?.p99));
  put(at("journal"), bytes(status.journal_bytes));
  put(at("uptime"), `running for ${duration(status.uptime)}`);
  at("disk").hidden = !status.disk_full;
}

const within = (p99) => (isNumber(p99) ? `99 of 100 within ${milliseconds(p99)}` : "none yet");

// --- Start ---

const live = new Live({
  connected: load,
  heard,
  said(sentence, state) {
    at("line").dataset.state = state;
    put(at("line"), sentence);
  },
});

tokenForm(() => live.start());
createForm((model) => {
  models.set(model.name, { ...model, ...model.ledger });
  if (addressed() === model.name) choose();
  else location.hash = address(model.name);
});
tryForms(() => chosen.model);
certifying(() => chosen.model);
addEventListener("hashchange", choose);
live.start();
