/**
 * Blind RSA signatures, RSABSSA-SHA384-PSS-Deterministic (RFC 9474), with all that a client checks.
 *
 * The time of BigInt depends on its numbers: who can time a page from the inside reads its
 * storage as well. Encoding: RFC 8017, section 9.1.1, with SHA-384 and MGF1 with SHA-384.
 */

import { compare, concat, fromBig, fromHex, number, same, toBig } from "../base/bytes.js";
import { sha384 } from "../base/hashes.js";

export const MODULUS_BYTES = 256;
export const SALT_BYTES = 48;
const EXPONENT = 65537n;
const HASH_BYTES = 48;
// SubjectPublicKeyInfo of RSASSA-PSS with SHA-384, MGF1 with SHA-384 and a salt of 48 bytes
// (RFC 9578, section 8.2.2), up to the modulus: for this length every byte is fixed.
const PREFIX = fromHex(
  "30820152303d06092a864886f70d01010a3030a00d300b0609608648016503040202" +
    "a11a301806092a864886f70d010108300b0609608648016503040202a2030201300382010f00" +
    "3082010a0282010100",
);
const SUFFIX = fromHex("0203010001");
const SPKI_BYTES = PREFIX.length + MODULUS_BYTES + SUFFIX.length;

export const MARKED =
  "The key of this poll was made to mark people. Nothing of this time was sent, and nothing will be in this " +
  "time: take part in the next one, and tell others.";
export const NO_TOKEN =
  "The issuer's answer is no signature on what this page asked for. Nothing of this time was sent, and nothing " +
  "will be in this time: take part in the next one, and tell others.";

/** A token or key that is refused: the window is over for who meets it. */
export class TokenRefused extends Error {}

/** The modulus of a key: odd, of exactly 2,048 bits, with e = 65537 and the one prefix. */
export function modulusOf(spki) {
  const good =
    spki.length === SPKI_BYTES &&
    same(spki.slice(0, PREFIX.length), PREFIX) &&
    same(spki.slice(-SUFFIX.length), SUFFIX);
  const bytes = spki.slice(PREFIX.length, -SUFFIX.length);
  if (!good || bytes[0] < 0x80 || bytes.at(-1) % 2 === 0) throw new TokenRefused(MARKED);
  return toBig(bytes);
}

export function power(base, exponent, n) {
  let result = 1n;
  for (let square = base % n; exponent; exponent >>= 1n, square = (square * square) % n) {
    if (exponent & 1n) result = (result * square) % n;
  }
  return result;
}

/** [greatest common divisor, x with a x = divisor mod n]. */
export function divisor(a, n) {
  let [r, s, x, y] = [n, a % n, 0n, 1n];
  while (s) {
    const quotient = r / s;
    [r, s] = [s, r - quotient * s];
    [x, y] = [y, x - quotient * y];
  }
  return [r, ((x % n) + n) % n];
}

/** maskedDB | H | 0xbc, a number below 2^bits. */
export async function pssEncode(message, { bits, salt }) {
  const length = Math.ceil(bits / 8);
  const seed = await sha384(new Uint8Array(8), await sha384(message), salt);
  const zeros = new Uint8Array(length - salt.length - HASH_BYTES - 2);
  const block = concat(zeros, Uint8Array.of(1), salt);
  let mask = new Uint8Array();
  for (let at = 0; mask.length < block.length; at++) {
    mask = concat(mask, await sha384(seed, number(at, 4)));
  }
  const masked = block.map((byte, i) => byte ^ mask[i]);
  masked[0] &= 0xff >> (8 * length - bits);
  return concat(masked, seed, Uint8Array.of(0xbc));
}

/** Blind a message by r = OS2IP(bytes) mod (n - 1) + 1. */
export const blind = (n, message, { salt, bytes }) =>
  blindBy(n, EXPONENT, message, { salt, factor: (toBig(bytes) % (n - 1n)) + 1n });

/**
 * The message blinded by a factor, for any modulus and exponent (RFC 9474, section 4.2).
 *
 * Both must be units mod n: an n of many small primes would else mark whom the divisor names.
 */
export async function blindBy(n, e, message, { salt, factor }) {
  const bits = n.toString(2).length;
  const encoded = toBig(await pssEncode(message, { bits: bits - 1, salt }));
  const [common, inverse] = divisor(factor, n);
  if (divisor(encoded, n)[0] !== 1n || common !== 1n) throw new TokenRefused(MARKED);
  const request = fromBig((encoded * power(factor, e, n)) % n, Math.ceil(bits / 8));
  return { request, encoded, inverse };
}

/**
 * The signature s = answer / r mod n, if s^e = m (RFC 9474, section 4.4).
 *
 * m is the encoding that was made here, so this is the whole verification. It makes s uniform
 * among the e-th roots of m, so that it says nothing of the request, whatever the key is.
 */
export function finalize(n, { encoded, inverse }, answer, e = EXPONENT) {
  const size = Math.ceil(n.toString(2).length / 8);
  if (answer.length !== size || compare(answer, fromBig(n, size)) >= 0) {
    throw new TokenRefused(NO_TOKEN);
  }
  const signature = (toBig(answer) * inverse) % n;
  if (power(signature, e, n) !== encoded) throw new TokenRefused(NO_TOKEN);
  return fromBig(signature, size);
}
