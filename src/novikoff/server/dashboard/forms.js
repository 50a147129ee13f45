// The forms of the page: token, new model, example, late label.

import { ask, hasToken, ofModel, onRefused, setToken } from "./api.js";
import { at, busy, make, plain, say } from "./dom.js";
import { hideExplanation, showExplanation } from "./explain.js";
import { shown } from "./text.js";

function onSubmit(form, work) {
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    work(event.submitter ?? form.querySelector("button"));
  });
}

// --- The token ---

export function tokenForm(start) {
  const section = at("token-section");
  onRefused((problem) => {
    const first = section.hidden;
    section.hidden = false;
    say(at("token-said"), plain(problem.message, 1000), true);
    if (first && document.activeElement === document.body) at("token").focus();
  });
  onSubmit(at("token-form"), () => {
    try {
      setToken(at("token").value.trim());
    } catch (problem) {
      return say(at("token-said"), problem.message, true);
    }
    at("token").value = "";
    section.hidden = true;
    known();
    start();
  });
  at("forget").addEventListener("click", () => {
    setToken("");
    known();
    start();
  });
  known();
}

function known() {
  at("forget").hidden = !hasToken();
}

// --- A new model ---

export function createForm(created) {
  onSubmit(at("create-form"), (button) =>
    busy(button, at("create-said"), "Creating …", async () => {
      const model = await ask("models", {
        method: "POST",
        body: {
          name: at("new-name").value.trim(),
          learner: at("new-learner").value.trim(),
          settings: settings(at("new-settings").value),
          challenges: at("new-challenges").value || null,
        },
      });
      say(at("create-said"), `${plain(model.name)} was created.`);
      at("new-name").value = "";
      created(model);
    }),
  );
}

function settings(text) {
  if (text.trim() === "") return {};
  let read;
  try {
    read = JSON.parse(text);
  } catch (problem) {
    throw new Error(`The settings must be JSON like {"margin": 0.5}, but can’t be read: ${problem.message}`);
  }
  if (read === null || typeof read !== "object" || Array.isArray(read)) {
    throw new Error('The settings must be a JSON object like {"margin": 0.5}.');
  }
  return read;
}

export function showChampions(names) {
  const select = at("new-challenges");
  const wanted = ["", ...names];
  if (wanted.join("\n") === [...select.options].map((option) => option.value).join("\n")) return;
  const before = select.value;
  const options = names.map((name) => make("option", { value: name }, plain(name)));
  select.replaceChildren(make("option", { value: "" }, "none"), ...options);
  select.value = wanted.includes(before) ? before : "";
}

// --- An example ---

// Parses features from lines `name value` (1 if the value is missing), or from JSON.
export function features(text) {
  const trimmed = text.trim();
  if (trimmed === "") throw new Error("Enter features: a line like “free 1”, or JSON.");
  if (trimmed.startsWith("{") || trimmed.startsWith("[")) {
    try {
      return JSON.parse(trimmed);
    } catch (problem) {
      throw new Error(`The features can’t be read as JSON: ${problem.message}`);
    }
  }
  const found = Object.create(null);
  for (const [k, line] of trimmed.split(/\r?\n/).entries()) {
    if (line.trim() === "") continue;
    const [, name, value] = /^(.*?)(?:\s+(\S+))?$/s.exec(line.trim());
    const number = value === undefined ? 1 : Number(value);
    if (!Number.isFinite(number)) throw new Error(`Line ${k + 1}: the value after the name must be a number, got “${plain(value, 60)}”.`);
    if (name in found) throw new Error(`Line ${k + 1}: duplicate feature “${plain(name, 60)}”. Each feature has one value.`);
    found[name] = number;
  }
  return found;
}

// Parses a label: a known label of the model, else JSON (a number, true, a list, "text"), else plain text.
export function label(text, labels) {
  const trimmed = text.trim();
  if (trimmed === "") throw new Error("Enter a label.");
  const known = labels.find((one) => String(one) === trimmed);
  if (known !== undefined) return known;
  try {
    const read = JSON.parse(trimmed);
    if (read !== null && (typeof read !== "object" || Array.isArray(read))) return read;
  } catch {
    // plain text
  }
  return trimmed;
}

export const asText = (label) => (Array.isArray(label) ? label.map(String).join(", ") || "no label" : String(label));

function learned(answer) {
  if (answer.status === "already learned") return "This label was already learned, and was not learned again.";
  const moved = answer.updates > 0 ? "updated its weights" : "kept its weights";
  return `Learned: the prediction was ${answer.mistakes > 0 ? "wrong" : "right"}, and the model ${moved}.`;
}

export function tryForms(chosen) {
  const post = (what, body) => ask(ofModel(chosen().name, what), { method: "POST", body });
  const labels = () => chosen().labels ?? [];
  const example = () => features(at("features").value);

  onSubmit(at("try-form"), (button) => {
    if (button === at("explain")) {
      return busy(button, at("tried"), "Explaining …", async () => {
        hideExplanation();
        const answer = await post("/predict", { features: example(), keep: false, explain: true });
        say(at("tried"), "");
        showExplanation(answer);
      });
    }
    hideExplanation();
    if (button === at("learn")) {
      return busy(button, at("tried"), "Learning …", async () => {
        const given = label(at("label").value, labels());
        say(at("tried"), learned(await post("/learn", { features: example(), label: given })));
      });
    }
    return busy(button, at("tried"), "Predicting …", async () => {
      const answer = await post("/predict", { features: example(), keep: true });
      at("late-id").value = answer.id ?? "";
      const found = answer.label === null ? "No label yet: nothing has been learned" : `Predicted “${plain(asText(answer.label))}”`;
      say(at("tried"), `${found}, score ${shown(answer.score)}. Its id is ${plain(answer.id)}. Send its label below, now or later.`);
    });
  });

  // Enter in the label field learns, although the first button of the form predicts.
  at("label").addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.isComposing) return;
    event.preventDefault();
    at("try-form").requestSubmit(at("learn"));
  });

  onSubmit(at("late-form"), (button) =>
    busy(button, at("late-said"), "Sending …", async () => {
      const id = at("late-id").value.trim();
      if (id === "") throw new Error("Enter an id: predict first, or paste the id of an earlier prediction.");
      say(at("late-said"), learned(await post("/learn", { id, label: label(at("late-label").value, labels()) })));
    }),
  );
}

export function showLabels(labels) {
  const options = labels.slice(0, 100).map((one) => make("option", { value: String(one) }));
  at("known-labels").replaceChildren(...options);
}
