// Server-sent events, read by fetch: EventSource can't send a token.

import { Problem, opened } from "./api.js";

const PAUSES = [1, 2, 4, 8, 15]; // seconds before the next try
const SILENCE = 60_000; // ms without data after which the connection is considered dead

// Yields the events in a stream of bytes: {event, data}, or null for any received data.
export async function* events(bytes) {
  const reader = bytes.getReader();
  const decoder = new TextDecoder();
  let rest = "";
  let event = "message";
  let data = [];
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    rest += decoder.decode(value, { stream: true });
    const lines = rest.split(/\r\n|\n|\r(?!$)/);
    rest = lines.pop();
    yield null;
    for (const line of lines) {
      if (line === "") {
        if (data.length > 0) yield { event, data: data.join("\n") };
        event = "message";
        data = [];
        continue;
      }
      const colon = line.indexOf(":");
      const field = colon < 0 ? line : line.slice(0, colon);
      const text = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
      if (field === "event") event = text;
      else if (field === "data") data.push(text);
    }
  }
}

// Keeps an event connection to the server while the page is visible. Calls `connected()` when it is established,
// `heard(snapshot)` for each event `models`, and `said(message, state)` when the state of the connection changes.
export class Live {
  #line = null;
  #tries = 0;
  #timer = 0;
  #watch = 0;

  constructor({ connected, heard, said }) {
    Object.assign(this, { connected, heard, said });
    document.addEventListener("visibilitychange", () => this.#looked());
    addEventListener("online", () => document.visibilityState === "visible" && this.start());
  }

  start() {
    this.stop();
    this.#tries = 0;
    this.#follow();
  }

  stop() {
    clearTimeout(this.#timer);
    clearTimeout(this.#watch);
    this.#line?.abort();
    this.#line = null;
  }

  #looked() {
    if (document.visibilityState === "visible") {
      this.start();
    } else {
      this.stop(); // browsers limit connections per server: hidden pages release theirs
      this.said("Paused while the page is hidden.", "paused");
    }
  }

  async #follow() {
    const line = new AbortController();
    this.#line = line;
    let why = "The server has closed the connection.";
    try {
      const answer = await opened("events", { signal: line.signal });
      this.#tries = 0;
      this.said("Live.", "live");
      this.connected();
      for await (const one of events(answer.body)) {
        if (line.signal.aborted) return;
        this.#sign(line);
        if (one?.event === "models") this.#handle(one.data);
      }
    } catch (failure) {
      if (this.#line !== line) return; // replaced by a newer connection
      if (failure.wantsToken) return this.said("Not live: the server requires a token.", "refused");
      why = failure instanceof Problem ? failure.message : "The connection to the server is broken.";
    }
    if (this.#line === line) this.#again(why);
  }

  #sign(line) {
    clearTimeout(this.#watch);
    this.#watch = setTimeout(() => this.#line === line && this.start(), SILENCE);
  }

  #handle(data) {
    try {
      this.heard(JSON.parse(data));
    } catch (defect) {
      reportError(defect); // a defect of the page, not of the connection
    }
  }

  #again(why) {
    clearTimeout(this.#watch);
    const pause = PAUSES[Math.min(this.#tries, PAUSES.length - 1)];
    this.#tries += 1;
    this.said(`${why} Trying again in ${pause === 1 ? "a second" : `${pause} seconds`}.`, "broken");
    this.#timer = setTimeout(() => this.#follow(), pause * 1000);
  }
}
