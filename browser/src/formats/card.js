/** The card of a window: every key that a client uses in it; see smoothdp/services/formats/card.py. */

import { concat, fromHex, label, number, Reader, same, toHex, vec } from "../base/bytes.js";
import { sha256 } from "../base/hashes.js";
import { modulusOf } from "./blind.js";
import { hides, KEY_BYTES } from "./hybrid.js";
import { isSigned, SIGNATURE_BYTES } from "./signing.js";
import { isSignedTask } from "./task.js";

export const VERSION = 2;
export const HASH_BYTES = 32;
const [KEM, KDF, AEAD] = [0x0020, 1, 3];
const AGAIN = "Nothing of this time was sent. Load this page again later, and tell others if this lasts.";

/** RFC 9458, section 3.1: the one key configuration of a card. */
const keyConfig = (window, gatewayKey) =>
  concat(number(window % 256, 1), number(KEM, 2), gatewayKey, ...[4, KDF, AEAD].map((n) => number(n, 2)));

/** What a sealed report begins with (RFC 9458, section 4.1). */
export const encapsulationHeader = (window) =>
  concat(number(window % 256, 1), ...[KEM, KDF, AEAD].map((n) => number(n, 2)));

export function encodeCard({ taskId, window, gatewayKey, innerKey, spki }) {
  return concat(
    number(VERSION, 1), taskId, number(window, 4), vec(vec(keyConfig(window, gatewayKey))), innerKey,
    number(spki ? 1 : 0, 1), spki ? vec(spki) : new Uint8Array(),
  );
}

/** The card of these bytes and no others, with its digest; whether its keys are good is not looked at. */
export async function decodeCard(bytes) {
  const reader = new Reader(bytes);
  reader.take(1);
  const taskId = reader.take(HASH_BYTES);
  const window = reader.number(4);
  const config = new Reader(new Reader(reader.vec()).vec());
  config.take(3);
  const gatewayKey = config.take(KEY_BYTES);
  const innerKey = reader.take(KEY_BYTES);
  const spki = reader.number(1) ? reader.vec() : null;
  const card = { taskId, window, gatewayKey, innerKey, spki };
  // What was skipped or left over above: each of these has one value.
  if (!same(encodeCard(card), bytes)) throw new Error("another card");
  return { ...card, digest: await sha256(bytes) };
}

/** The card in what the issuer hands out: card and two signatures, none of which is checked here. */
export async function openCard(sent) {
  const end = sent.length - 2 * SIGNATURE_BYTES;
  if (end < 0) throw new Error("too short");
  return decodeCard(sent.slice(0, end));
}

/** The card, after all that a client checks; throws an Error whose message is for the participant. */
export async function checkCard(sent, { task, taskId, window }) {
  let card;
  try {
    card = await openCard(sent);
  } catch {
    throw refused("it is no card");
  }
  const body = sent.slice(0, sent.length - 2 * SIGNATURE_BYTES);
  const [first, second] = [sent.slice(body.length, -SIGNATURE_BYTES), sent.slice(-SIGNATURE_BYTES)];
  if (!(await isSigned(task.analyzer_sign_key, "card", body, first))) {
    throw refused("the second service did not sign it");
  }
  if (!(await isSigned(task.shuffler_sign_key, "card", body, second))) {
    throw refused("the first service did not sign it");
  }
  if (toHex(card.taskId) !== taskId) throw refused("it is that of another poll");
  if (card.window !== window) throw refused("it is that of another time");
  if (Boolean(card.spki) !== isSignedTask(task)) throw refused("its issuer is not that of the poll");
  for (const key of [card.gatewayKey, card.innerKey]) {
    if (!(await hides(key))) throw refused("one of its keys hides nothing");
  }
  if (card.spki) {
    try {
      modulusOf(card.spki);
    } catch {
      throw refused("its issuer's key is none");
    }
  }
  return card;
}

const refused = (why) =>
  new Error(`The keys of this poll, its card, are not good: ${why}. ${AGAIN}`);
