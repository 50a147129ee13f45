// Requests to the API. The token is stored for this tab only.

const KEY = "novikoff-token";
let token = stored();

function stored() {
  try {
    return sessionStorage.getItem(KEY) ?? "";
  } catch {
    return ""; // the browser does not allow storage
  }
}

export const hasToken = () => token !== "";

export function setToken(text) {
  if (text !== "" && !/^[\x21-\x7e]+$/.test(text)) {
    throw new Error("A token has no spaces and only ASCII characters. Copy it again.");
  }
  token = text;
  try {
    if (text === "") sessionStorage.removeItem(KEY);
    else sessionStorage.setItem(KEY, text);
  } catch {
    // without storage the token is kept until the page is closed
  }
}

// An error response of the server, with its message.
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

// Calls `f(problem)` whenever the server requires a token, or a different one.
export const onRefused = (f) => whenRefused.push(f);

// Sends a request and returns the response. URLs are relative, so that the page also works behind a path prefix.
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
    // a proxy may have sent the response
  }
  return `The server returned status ${answer.status} without an error message.`;
}

export async function ask(path, options) {
  const answer = await opened(path, options);
  if (answer.status === 204) return null;
  try {
    return await answer.json();
  } catch {
    throw new Problem("The response of the server is incomplete. Try again.", answer.status);
  }
}

export const ofModel = (name, what = "") => `models/${encodeURIComponent(name)}${what}`;
