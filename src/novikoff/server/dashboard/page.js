// The dashboard: what the server tells, and what it is asked.

import { ask } from "./api.js";
import { certifying, forget } from "./certify.js";
import { Chosen } from "./chosen.js";
import { at, plain, put, say } from "./elements.js";
import { createForm, showChampions, showLabels, tokenForm, tryForms } from "./forms.js";
import { List, address, addressed } from "./list.js";
import { Live } from "./live.js";
import { bytes, duration, isNumber, milliseconds, rate } from "./words.js";

const AGAIN = 5000; // ms between two looks at the list, where events don't fit it

const list = new List();
const chosen = new Chosen();
const models = new Map(); // name → what GET /v1/models and the events say of it
let asked = 0; // when the list was last asked for

// --- The list ---

async function load() {
  asked = performance.now();
  let told;
  try {
    told = (await ask("models")).models;
  } catch (problem) {
    if (!problem.wantsToken) say(at("said"), problem.message, true);
    return;
  }
  say(at("said"), "");
  const names = new Set(told.map((model) => model.name));
  for (const name of models.keys()) if (!names.has(name)) models.delete(name);
  for (const model of told) {
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
    at("late-id").value = "";
  }
  chosen.choose(model ?? null);
  showLabels(model?.labels ?? []);
  show();
}

// --- What is heard ---

function heard(told) {
  let unknown = false;
  for (const live of told.models ?? []) {
    const model = models.get(live.name);
    if (model === undefined || model.role !== live.role) unknown = true;
    if (model !== undefined) models.set(live.name, { ...model, ...live });
  }
  const gone = (told.models ?? []).length < models.size;
  const labelled = chosen.model !== null && chosen.model.examples > 0 && (chosen.model.labels ?? []).length === 0;
  if (unknown || ((gone || labelled) && performance.now() - asked > AGAIN)) load();
  const model = models.get(chosen.model?.name);
  if (model !== undefined) chosen.tell(model);
  show();
  if (told.server) server(told.server);
}

function server(told) {
  put(at("learned-rate"), rate(told.learned_per_second));
  put(at("predicted-rate"), rate(told.predicted_per_second));
  put(at("predict-ms"), milliseconds(told.predict_ms?.p50));
  put(at("predict-p99"), within(told.predict_ms?.p99));
  put(at("learn-ms"), milliseconds(told.learn_ms?.p50));
  put(at("learn-p99"), within(told.learn_ms?.p99));
  put(at("journal"), bytes(told.journal_bytes));
  put(at("uptime"), `running for ${duration(told.uptime)}`);
  at("disk").hidden = !told.disk_full;
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
