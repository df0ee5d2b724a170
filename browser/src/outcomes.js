/**
 * What was randomised, kept until its window is over: drawing again would tell more.
 *
 * One person is one token, of which the hash is kept: several may share a browser.
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
  const hash = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(token));
  return [taskId, window, toHex(new Uint8Array(hash))];
}

export async function find(place) {
  const key = await keyOf(place);
  return inStore((store) => request(store.get(key)));
}

/** Keep an outcome unless there is one; return the one that counts, on disk by then. */
export async function keep(place, fresh) {
  const key = await keyOf(place);
  return inStore(async (store) => {
    const earlier = await request(store.get(key));
    if (earlier) return earlier;
    await request(store.put(fresh, key));
    return fresh;
  });
}

export async function replace(place, outcome) {
  const key = await keyOf(place);
  return inStore((store) => request(store.put(outcome, key)));
}

/** Destroy the outcomes of windows that are over, of all tokens. */
export const forgetBefore = (taskId, window) =>
  inStore((store) => request(store.delete(IDBKeyRange.bound([taskId, 0], [taskId, window], false, true))));
