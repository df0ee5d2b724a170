/**
 * Sealed reports, kept until their window is over: drawing or sealing again would tell more.
 *
 * One person is one token, of which the hash is kept: several may share a browser. But a report that
 * is not known to be accepted is sent again under another token too, for it may have left; unless
 * another person answers. Of a window that is over it is kept that there was a report, so that a
 * wrong clock makes no second one.
 */

import { toHex } from "./bytes.js";

export const NO_STORAGE =
  "This browser does not let the page keep anything, so an answer could be randomised twice. " +
  "Allow storage for this page, or use another browser.";

const STORE = "outcomes";

function request(made) {
  return new Promise((resolve, reject) => {
    made.onsuccess = () => resolve(made.result);
    made.onerror = () => reject(made.error);
  });
}

async function database() {
  const opening = indexedDB.open("smoothdp", 1);
  opening.onupgradeneeded = () => opening.result.createObjectStore(STORE);
  return request(opening);
}

async function inStore(work) {
  let opened;
  try {
    opened = await database();
    const change = opened.transaction(STORE, "readwrite", { durability: "strict" });
    const done = new Promise((resolve, reject) => {
      change.oncomplete = resolve;
      change.onabort = () => reject(change.error);
    });
    const result = await work(change.objectStore(STORE));
    await done;
    return result;
  } catch (error) {
    throw new Error(NO_STORAGE, { cause: error });
  } finally {
    opened?.close();
  }
}

/** The place of an outcome: by window first, so that those which are over lie together. */
async function keyOf({ taskId, window, token }) {
  // However it was typed: a service reads hexadecimal in capitals or with spaces as the same.
  const same = token.replace(/\s/g, "").toLowerCase();
  const hash = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(same));
  return [taskId, window, toHex(new Uint8Array(hash))];
}

export async function find(place) {
  const key = await keyOf(place);
  return inStore((store) => request(store.get(key)));
}

/** The reports of a window, of all tokens: [key, report]. */
async function inWindow(store, { taskId, window }) {
  const range = IDBKeyRange.bound([taskId, window], [taskId, window + 1], false, true);
  const found = [];
  for (const key of await request(store.getAllKeys(range))) {
    found.push([key, await request(store.get(key))]);
  }
  return found;
}

const unaccepted = async (store, place) =>
  (await inWindow(store, place)).map(([, kept]) => kept).find((kept) => !kept.accepted);

/** Whether this token has no report, and one of another token is not known to be accepted. */
export async function isWaiting(place) {
  const key = await keyOf(place);
  return inStore(async (store) =>
    !(await request(store.get(key))) && Boolean(await unaccepted(store, place)));
}

/**
 * Keep a report unless there is one; return the one that counts, on disk by then.
 *
 * Without a fresh one, or with adopt, that is also one of another token that was not accepted.
 */
export async function keep(place, fresh, { adopt }) {
  const key = await keyOf(place);
  return inStore(async (store) => {
    const earlier = await request(store.get(key));
    if (earlier) return earlier;
    const counts = (adopt && (await unaccepted(store, place))) || fresh;
    if (counts) await request(store.put(counts, key));
    return counts;
  });
}

/** Keep that a report was accepted, under whatever tokens it was sent. */
export async function keepAccepted(place) {
  const key = await keyOf(place);
  return inStore(async (store) => {
    const sent = await request(store.get(key));
    if (!sent?.slots) return;
    for (const [other, kept] of await inWindow(store, place)) {
      if (kept.slots && toHex(kept.reportId) === toHex(sent.reportId)) {
        await request(store.put({ ...kept, accepted: true }, other));
      }
    }
  });
}

/** Keep another envelope of a report, unless it was destroyed meanwhile. */
export async function replace(place, outcome) {
  const key = await keyOf(place);
  return inStore(async (store) => {
    const kept = await request(store.get(key));
    if (kept?.slots) await request(store.put({ ...kept, ...outcome }, key));
  });
}

/** Destroy the reports of windows that are over, of all tokens; whether they were accepted stays. */
export const forgetBefore = (taskId, window) =>
  inStore(async (store) => {
    const over = IDBKeyRange.bound([taskId, 0], [taskId, window], false, true);
    for (const key of await request(store.getAllKeys(over))) {
      const { accepted } = await request(store.get(key));
      await request(store.put(accepted ? { accepted } : {}, key));
    }
  });
