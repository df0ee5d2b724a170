/** The task, format 2: its hash is the name that was agreed on. */

import { toHex } from "../base/bytes.js";
import { fraction, ratio } from "../base/fractions.js";
import { sha256 } from "../base/hashes.js";
import { SUITE } from "./hybrid.js";

/** How far a client's clock may be off at the boundary of a window. */
export const CLOCK_SECONDS = 300;
const FORMAT = 2;

/**
 * The task of a canonical encoding, if its hash is the name that was agreed on, and its issuer is not
 * where the page came from: one service would have both secrets of everybody.
 */
export async function readTask(encoded, taskId, { origin } = globalThis.location ?? {}) {
  if (toHex(await sha256(new Uint8Array(encoded))) !== taskId) {
    throw new Error("The terms of this poll are not those of its name.");
  }
  const task = JSON.parse(new TextDecoder().decode(encoded));
  if (task.format !== FORMAT || task.suite !== SUITE) {
    throw new Error("This poll needs another page.");
  }
  if (!isSound(task)) {
    throw new Error("The terms of this poll are not sound: nothing was sent. Tell who gave you the link.");
  }
  if (task.issuer && new URL(task.issuer.url).origin === origin) {
    throw new Error(
      "Both services of this poll have one address: nothing was sent. Who has pass and invitation of " +
      "everybody breaks the promise. Tell who gave you the link.",
    );
  }
  return task;
}

/**
 * What of the terms a page can see: a key of its own for each party, tokens just if there is an issuer,
 * and an address of it to which an invitation does not travel in the clear. That the noise keeps the
 * promise is computed by the services and by the command-line client, not here.
 */
function isSound({ issuer, proof, analyzer_sign_key, shuffler_sign_key }) {
  const keys = [analyzer_sign_key, shuffler_sign_key, ...(issuer ? [issuer.sign_key] : [])];
  const isMatched = proof === (issuer ? "slots" : "none");
  return new Set(keys).size === keys.length && isMatched && (!issuer || isPrivate(issuer.url));
}

/** Whether what is sent to an address is encrypted, or stays on this machine. */
function isPrivate(address) {
  try {
    const { protocol, hostname, username, password } = new URL(address);
    if (username || password) return false;
    const isHere = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(hostname);
    return protocol === "https:" || (protocol === "http:" && isHere);
  } catch {
    return false;
  }
}

/** Whether slots carry signatures: q = 1. */
export const isSignedTask = (task) => task.proof === "slots";

export const windowAt = (task, seconds) => Math.floor(seconds / task.window_seconds);

/** The first window of which a client would take a card. */
export const firstNear = (task, seconds) => windowAt(task, seconds - CLOCK_SECONDS);

/** Whether a client takes a card of this window: the present one, or its neighbour within 300 s. */
export const isNear = (task, window, seconds) =>
  firstNear(task, seconds) <= window && window <= windowAt(task, seconds + CLOCK_SECONDS);

/** The first window that is not over with its grace. */
export const firstLive = (task, seconds) => windowAt(task, seconds - task.grace_seconds);

/** How many windows the budget of a task pays for: what the analyser's ledger lets out. */
export function paidWindows(task) {
  const counts = ["epsilon", "delta"].flatMap((name) => {
    const [above, below] = ratio(fraction(task[`budget_${name}`]), fraction(task[name]));
    return below ? [Number(above / below)] : [];
  });
  return Math.min(...counts);
}

/** Whether every window that the budget pays for has its result: no answer can count any more. */
export const isClosed = (task, results) =>
  new Set(results.map((result) => result.window)).size >= paidWindows(task);
