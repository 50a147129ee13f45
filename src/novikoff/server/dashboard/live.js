// Server-sent events, read by fetch: EventSource can't send a token.

import { Problem, opened } from "./api.js";

const PAUSES = [1, 2, 4, 8, 15]; // seconds before the next try
const SILENCE = 60_000; // ms after which a line that says nothing is taken for dead

// The events in a stream of bytes: {event, data}, or null for a sign of life.
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

// Follows the server as long as the page is looked at. `connected()` when the line stands, `heard(told)` for each
// event `models`, `said(sentence, state)` when the state of the line changes.
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
      this.stop(); // a browser has few lines to one server: hidden pages leave theirs to others
      this.said("Paused while nobody looks.", "paused");
    }
  }

  async #follow() {
    const line = new AbortController();
    this.#line = line;
    let why = "The server has closed the line.";
    try {
      const answer = await opened("events", { signal: line.signal });
      this.#tries = 0;
      this.said("Live.", "live");
      this.connected();
      for await (const one of events(answer.body)) {
        if (line.signal.aborted) return;
        this.#sign(line);
        if (one?.event === "models") this.#tell(one.data);
      }
    } catch (failure) {
      if (this.#line !== line) return; // it was given up for another one
      if (failure.wantsToken) return this.said("Not live: the server asks for a token.", "refused");
      why = failure instanceof Problem ? failure.message : "The line to the server is broken.";
    }
    if (this.#line === line) this.#again(why);
  }

  #sign(line) {
    clearTimeout(this.#watch);
    this.#watch = setTimeout(() => this.#line === line && this.start(), SILENCE);
  }

  #tell(data) {
    try {
      this.heard(JSON.parse(data));
    } catch (defect) {
      reportError(defect); // it is none of the line
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
