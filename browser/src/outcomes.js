/** What was randomised, kept until its window is over: drawing again would tell more. */

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
  const opened = await database();
  try {
    const change = opened.transaction(STORE, "readwrite", { durability: "strict" });
    const done = new Promise((resolve, reject) => {
      change.oncomplete = resolve;
      change.onabort = () => reject(change.error);
    });
    const result = await work(change.objectStore(STORE));
    await done;
    return result;
  } finally {
    opened.close();
  }
}

const key = (taskId, window) => [taskId, window];

export const find = (taskId, window) =>
  inStore((store) => request(store.get(key(taskId, window))));

/** Keep an outcome unless there is one; return the one that counts, on disk by then. */
export function keep(taskId, window, fresh) {
  return inStore(async (store) => {
    const earlier = await request(store.get(key(taskId, window)));
    if (earlier) return earlier;
    await request(store.put(fresh, key(taskId, window)));
    return fresh;
  });
}

export const replace = (taskId, window, outcome) =>
  inStore((store) => request(store.put(outcome, key(taskId, window))));

/** Destroy the outcomes of windows that are over. */
export const forgetBefore = (taskId, window) =>
  inStore((store) => request(store.delete(IDBKeyRange.bound([taskId, 0], [taskId, window], false, true))));
