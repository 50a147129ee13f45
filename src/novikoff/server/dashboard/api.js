// Asks the server. The token is kept for this tab only.

const KEY = "novikoff-token";
let token = stored();

function stored() {
  try {
    return sessionStorage.getItem(KEY) ?? "";
  } catch {
    return ""; // a browser that keeps nothing
  }
}

export const hasToken = () => token !== "";

export function setToken(text) {
  if (text !== "" && !/^[\x21-\x7e]+$/.test(text)) {
    throw new Error("A token has letters, digits and signs without spaces: copy it once more.");
  }
  token = text;
  try {
    if (text === "") sessionStorage.removeItem(KEY);
    else sessionStorage.setItem(KEY, text);
  } catch {
    // then it is known until the page is left
  }
}

// What the server refused, in its own words.
export class Problem extends Error {
  constructor(sentence, status) {
    super(sentence);
    this.status = status;
  }

  get wantsToken() {
    return this.status === 401 || this.status === 403;
  }
}

const whenRefused = [];

// Calls `f(problem)` whenever the server wants a token, or another one.
export const onRefused = (f) => whenRefused.push(f);

// The answer as it comes; addresses are relative, so that the page works behind a prefix, too.
export async function opened(path, { method = "GET", body, signal } = {}) {
  const headers = {};
  if (token !== "") headers.Authorization = `Bearer ${token}`;
  if (body !== undefined) headers["Content-Type"] = "application/json";
  const asked = { method, headers, signal, cache: "no-store", credentials: "omit", redirect: "error" };
  if (body !== undefined) asked.body = JSON.stringify(body);
  let answer;
  try {
    answer = await fetch(`v1/${path}`, asked);
  } catch (failure) {
    if (failure.name === "AbortError") throw failure;
    throw new Problem("The server can’t be reached.", 0);
  }
  if (!answer.ok) {
    const problem = new Problem(await sentence(answer), answer.status);
    if (problem.wantsToken) for (const f of whenRefused) f(problem);
    throw problem;
  }
  return answer;
}

async function sentence(answer) {
  try {
    const { detail } = await answer.json(); // problem details, RFC 9457
    if (typeof detail === "string" && detail !== "") return detail;
  } catch {
    // something between here and the server has answered
  }
  return `The server answered with status ${answer.status} and said no more.`;
}

export async function ask(path, options) {
  const answer = await opened(path, options);
  if (answer.status === 204) return null;
  try {
    return await answer.json();
  } catch {
    throw new Problem("The answer of the server was cut short: try again.", answer.status);
  }
}

export const ofModel = (name, what = "") => `models/${encodeURIComponent(name)}${what}`;
