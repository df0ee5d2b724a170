/** Ed25519 signatures (RFC 8032) of the parties, each over TAG(use) and what is signed. */

import { concat, fromHex, label, toBig } from "../base/bytes.js";

export const SIGNATURE_BYTES = 64;
const KEY_BYTES = 32;
const P = (1n << 255n) - 19n;
// The y of all points whose order divides 8, read mod 2^255: with such a key others sign as well.
const SMALL = [
  0n, 1n, P - 1n, P, P + 1n,
  0x05fc536d880238b13933c6d305acdfd5f098eff289f4c345b027b2c28f95e826n,
  0x7a03ac9277fdc74ec6cc392cfa53202a0f67100d760b3cba4fd84d3d706a17c7n,
];
const BASE_POINT = `58${"66".repeat(31)}`;

/** Whether the browser checks such signatures at all. */
export async function canCheck() {
  try {
    await crypto.subtle.importKey("raw", fromHex(BASE_POINT), "Ed25519", false, ["verify"]);
    return true;
  } catch {
    return false;
  }
}

/** Whether the party whose key it is (64 hexadecimal digits) signed TAG(use) | data. */
export async function isSigned(keyInHex, use, data, signature) {
  const bytes = fromHex(keyInHex);
  const y = toBig(bytes.slice().reverse()) & ((1n << 255n) - 1n);
  if (bytes.length !== KEY_BYTES || SMALL.includes(y)) return false;
  const key = await crypto.subtle.importKey("raw", bytes, "Ed25519", false, ["verify"]);
  return crypto.subtle.verify("Ed25519", key, signature, concat(label(use), data));
}
