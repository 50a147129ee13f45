// The certificate of the selected model, as text and as a table.

import { ask, ofModel } from "./api.js";
import { at, busy, make, plain, say } from "./dom.js";
import { certificateInWords, shown } from "./text.js";

let address = "";

export function certifying(chosen) {
  at("certify").addEventListener("click", () => {
    const { name } = chosen();
    busy(at("certify"), at("certified"), "Certifying: searching for witnesses. This takes a while for long streams.", async () => {
      forget();
      const document = await ask(ofModel(name, "/certificate"));
      if (chosen().name === name) showCertificate(name, document);
    });
  });
}

function showCertificate(name, document) {
  const broken = (document.bounds ?? []).some((bound) => bound.verdict === "violated");
  say(at("certified"), certificateInWords(document).map((text) => plain(text, 1000)).join(" "), broken);
  at("bounds-body").replaceChildren(...(document.bounds ?? []).map(row));
  at("bounds").hidden = (document.bounds ?? []).length === 0;
  address = URL.createObjectURL(new Blob([JSON.stringify(document, null, 1)], { type: "application/json" }));
  const link = at("save");
  link.href = address;
  link.download = `${name}.certificate.json`;
  link.parentElement.hidden = false;
}

// Hides the certificate of another model, or of an earlier state.
export function forget() {
  URL.revokeObjectURL(address);
  say(at("certified"), "");
  at("bounds").hidden = true;
  at("save").parentElement.hidden = true;
}

function row(bound) {
  const allowed = bound.bound === undefined ? "–" : shown(Math.floor(bound.bound));
  const texts = [plain(bound.statement, 300), `${shown(bound.observed)} ${plain(bound.counts)}`, allowed];
  const verdict = bound.reason ? `${bound.verdict}: ${bound.reason}` : bound.verdict;
  const cells = [...texts, plain(verdict, 300)].map((text, k) => make("td", { class: k === 0 || k === 3 ? "name" : "" }, text));
  return make("tr", {}, make("th", { scope: "row" }, plain(bound.name)), ...cells);
}
