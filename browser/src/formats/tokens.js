/** A token of RFC 9578, type 2, for each slot; see smoothdp/services/tokens/token.py. */

import { concat, label, number, split, text, vec } from "../base/bytes.js";
import { expand, sha256 } from "../base/hashes.js";
import { blind, finalize, MODULUS_BYTES, modulusOf, NO_TOKEN, SALT_BYTES, TokenRefused } from "./blind.js";

const TYPE = number(2, 2);
const BLIND_BYTES = MODULUS_BYTES + 16;

/** A token is good for these bytes alone. */
export const slotNonce = (slot) => sha256(label("slot"), slot);

/** SHA-256 of the challenge of RFC 9577: a token is good for one task and window alone. */
export async function challengeDigest({ issuerName, origin, cardDigest }) {
  const context = await sha256(label("token"), cardDigest);
  return sha256(TYPE, vec(text(issuerName)), number(32, 1), context, vec(text(origin)));
}

/** What is signed: 98 bytes (RFC 9578, section 6.1). */
export const tokenInput = async (nonce, challenge, spki) =>
  concat(TYPE, nonce, challenge, await sha256(spki));

/** Salt and blinding of a slot, from a window's seed: a retry repeats the same request. */
export async function tokenCoins(seed, { cardDigest, nonce }) {
  const rest = concat(cardDigest, new Uint8Array(1), nonce);
  return {
    salt: await expand(seed, concat(label("salt"), rest), SALT_BYTES),
    bytes: await expand(seed, concat(label("blind"), rest), BLIND_BYTES),
  };
}

/** The requests of all slots, in their order, and what opens the answer: all from slots and seed. */
async function blinded({ card, issuerName, origin, slots, seed }) {
  const n = modulusOf(card.spki);
  const challenge = await challengeDigest({ issuerName, origin, cardDigest: card.digest });
  const made = [];
  for (const slot of slots) {
    const nonce = await slotNonce(slot);
    const coins = await tokenCoins(seed, { cardDigest: card.digest, nonce });
    made.push(await blind(n, await tokenInput(nonce, challenge, card.spki), coins));
  }
  return made;
}

/** The body that asks the issuer: 259 bytes for each slot, the same at each call. */
export async function tokenRequest(from) {
  const start = concat(TYPE, (await sha256(from.card.spki)).slice(-1));
  return concat(...(await blinded(from)).flatMap(({ request }) => [start, request]));
}

/** The signatures of all slots, in their order; throws TokenRefused unless all are good. */
export async function finalizeAll(from, answer) {
  const made = await blinded(from);
  if (answer.length !== MODULUS_BYTES * made.length) throw new TokenRefused(NO_TOKEN);
  const n = modulusOf(from.card.spki);
  return split(answer, MODULUS_BYTES).map((part, i) => finalize(n, made[i], part));
}
