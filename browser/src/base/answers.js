/** Requests to the services, and their answers, read up to a limit: the other end may be hostile. */

/** Of the task: as much as the command-line client reads. */
export const MOST_ANSWER = 1 << 22;
/** Of what is short: cards, tokens, refusals, the question. */
export const MOST_SHORT = 1 << 16;
/** Of all published results together. */
export const MOST_RESULTS = 1 << 26;
/** For how long nothing may come, as with the command-line client. */
const SILENT_SECONDS = 30;
/** How long all of an answer may take, and a second for each 64 kB that it and the request may have. */
const WHOLE_SECONDS = 60;
const BYTES_A_SECOND = 1 << 16;

export const TOO_LONG =
  "A service answered with more than anything that is meant, and was not heard out. Check the " +
  "address of this page; if that is right, tell who runs the services.";

export const NO_DOCUMENT =
  "A service answered with something that this page does not understand. Load this page again; if " +
  "that does not help, tell who runs the services.";

/** Nothing came, or not all of it, or nothing more for too long. */
export class Lost extends Error {
  constructor() {
    super("The service does not answer. Load this page again later.");
  }
}

/** No cookie, no referrer, no copy on the disk, and no answer of a proxy that turns elsewhere. */
const PLAINLY = {
  credentials: "omit", referrerPolicy: "no-referrer", redirect: "error", cache: "no-store",
};

/** A browser's fetch wants to be called as its own. */
const own = (url, fields) => fetch(url, fields);

/** Status, body and Retry-After of an answer; throws Lost if there is none, and where it is too long. */
export async function ask(url, fields, { fetcher = own, most = MOST_SHORT } = {}) {
  const stop = new AbortController();
  const whole = WHOLE_SECONDS + (most + (fields?.body?.length ?? 0)) / BYTES_A_SECOND;
  const end = setTimeout(() => stop.abort(), 1000 * whole);
  let timer;
  const silence = new Promise((_, reject) => {
    stop.signal.addEventListener("abort", () => reject(new Lost()));
  });
  const inTime = (made) => {
    clearTimeout(timer);
    timer = setTimeout(() => stop.abort(), 1000 * SILENT_SECONDS);
    return Promise.race([made, silence]);
  };
  try {
    const answer = await inTime(fetcher(url, { ...PLAINLY, ...fields, signal: stop.signal }));
    const body = await bytesOf(answer, most, inTime);
    const after = answer.headers.get("retry-after") ?? "";
    const seconds = /^[0-9]{1,6}$/.test(after) ? Number(after) : undefined;
    return { ok: answer.ok, status: answer.status, body, seconds };
  } catch (error) {
    // What fetch throws where nothing came, or not all of it.
    if (error instanceof TypeError || error?.name === "AbortError") throw new Lost();
    throw error;
  } finally {
    clearTimeout(timer);
    clearTimeout(end);
  }
}

/** The bytes of an answer. Throws as soon as there are more than `most`; what follows is not taken. */
export async function bytesOf(answer, most = MOST_ANSWER, inTime = (made) => made) {
  const reader = answer.body?.getReader();
  let [bytes, size] = [new Uint8Array(Math.min(most, MOST_SHORT)), 0];
  while (reader) {
    const { done, value } = await inTime(reader.read());
    if (done) break;
    if (size + value.length > most) {
      reader.cancel().catch(() => {});
      throw new Error(TOO_LONG);
    }
    bytes = roomFor(bytes, size + value.length);
    bytes.set(value, size);
    size += value.length;
  }
  return bytes.slice(0, size);
}

/** The JSON document in an answer. */
export function documentOf({ body }) {
  try {
    return JSON.parse(new TextDecoder().decode(body));
  } catch {
    throw new Error(NO_DOCUMENT);
  }
}

/** The same bytes with room for so many: twice as many each time, however small the pieces are. */
function roomFor(bytes, size) {
  if (size <= bytes.length) return bytes;
  const larger = new Uint8Array(Math.max(size, 2 * bytes.length));
  larger.set(bytes);
  return larger;
}
