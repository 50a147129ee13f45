// Elements of the page. Whatever comes from the server or the user goes in as text, never as markup.

export const at = (id) => document.getElementById(id);

const SVG = "http://www.w3.org/2000/svg";
const OVERRIDES = /[\p{Cc}\p{Cs}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu;

// A text from data as it is shown: letters that would turn the line round, or can't be seen, are marked.
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

// Writes only what has changed, so that nothing is read out twice and no selection is lost.
export function put(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

// A sentence in a live region; `broken` for what went wrong.
export function say(element, sentence, broken = false) {
  element.classList.toggle("broken", broken);
  put(element, sentence);
}

// Does what a button asks for, once at a time, and says in words what went wrong.
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
