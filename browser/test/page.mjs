/**
 * Runs code against the committed page's client in Node: a job as JSON in, its result out.
 *
 * IndexedDB is a stand-in with what the client uses of it: stored values are copies, one
 * transaction at a time, and it lasts over the loads of the page. The tests in a browser use
 * the real one. A test may hold it up before and after each transaction, by `atStep`.
 */

import { readFileSync } from "node:fs";
import vm from "node:vm";

const stored = {};
let last = Promise.resolve();

const inOrder = (a, b) => {
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return a[i] < b[i] ? -1 : 1;
  return a.length - b.length;
};

class Transaction {
  constructor(durability) {
    // The browsers' default would let a row be lost that something was sent of.
    if (durability !== "strict") throw new Error("a row must be on disk before anything is sent");
    const before = last;
    last = new Promise((done) => { this.done = done; });
    this.pending = 0;
    this.turn = before.then(() => { setImmediate(() => this.check()); });
  }

  objectStore(store) {
    const request = (work) => {
      const made = {};
      this.pending++;
      this.turn.then(() => setImmediate(() => {
        made.result = work(stored[store]);
        made.onsuccess?.();
        this.pending--;
        setImmediate(() => this.check());
      }));
      return made;
    };
    const name = JSON.stringify;
    return {
      get: (key) => request((map) => structuredClone(map.get(name(key)))),
      put: (value, key) => request((map) => { map.set(name(key), structuredClone(value)); }),
      getAllKeys: (range) => request((map) => [...map.keys()].map((key) => JSON.parse(key))
        .filter((key) => inOrder(key, range.low) >= 0 && inOrder(key, range.high) < 0)),
    };
  }

  check() {
    if (this.pending || this.over) return;
    this.over = true;
    this.done();
    this.tell();
  }

  async tell() {
    await globalThis.atStep?.();
    this.oncomplete?.();
  }
}

globalThis.IDBKeyRange = { bound: (low, high) => ({ low, high }) };
globalThis.indexedDB = {
  open() {
    const made = {
      result: {
        transaction: (_, __, options) => new Transaction(options?.durability),
        close() {},
        objectStoreNames: [],
        createObjectStore(name) { stored[name] = new Map(); },
      },
    };
    setImmediate(async () => {
      await globalThis.atStep?.();
      if (!stored.rows) made.onupgradeneeded();
      made.onsuccess?.();
    });
    return made;
  },
};

const job = JSON.parse(readFileSync(0, "utf8"));
const page = readFileSync(job.bundle, "utf8");
// As in a browser, where fetch is called as the window's own or not at all.
const { fetch: ask } = globalThis;
globalThis.fetch = function (...all) {
  if (this !== undefined && this !== globalThis) throw new TypeError("Illegal invocation");
  return ask(...all);
};
globalThis.load = () => vm.runInThisContext(page);
globalThis.stored = stored;
globalThis.given = job.given;
load();
const work = vm.runInThisContext(`(async () => { ${job.code} })`);
// Connections that are kept for later do not hold this program up.
process.stdout.write(`${JSON.stringify((await work()) ?? null)}\n`, () => process.exit(0));
