// Helpers for DOM elements. Data of the server and the user is inserted as text, never as markup.

export const at = (id) => document.getElementById(id);

const SVG = "http://www.w3.org/2000/svg";
const OVERRIDES = /[\p{Cc}\p{Cs}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu;

// Returns text from data for display: control characters and characters that change the writing direction are replaced.
export function plain(text, most = 200) {
  const clean = String(text).replace(OVERRIDES, "\ufffd");
  return clean.length <= most ? clean : `${clean.slice(0, most - 1)}…`;
}

export function make(tag, attributes = {}, ...inside) {
  return filled(document.createElement(tag), attributes, inside);
}

export function drawn(tag, attributes = {}, ...inside) {
  return filled(document.createElementNS(SVG, tag), attributes, inside);
}

function filled(element, attributes, inside) {
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...inside.map((one) => (one instanceof Node ? one : String(one))));
  return element;
}

// Sets the text only if it differs, so that screen readers don't repeat it and selections are kept.
export function put(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

// Shows a message in a live region; `broken` marks errors.
export function say(element, sentence, broken = false) {
  element.classList.toggle("broken", broken);
  put(element, sentence);
}

// Runs the action of a button, not twice at the same time, and shows its error message.
export async function busy(button, region, words, work) {
  if (button.getAttribute("aria-disabled") === "true") return;
  button.setAttribute("aria-disabled", "true");
  say(region, words);
  try {
    await work();
  } catch (problem) {
    say(region, problem.message, true);
  } finally {
    button.removeAttribute("aria-disabled");
  }
}
