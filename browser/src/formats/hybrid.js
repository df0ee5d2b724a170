/** RFC 9180 base mode with X25519, HKDF-SHA256, ChaCha20-Poly1305; the result is enc | ct. */

import { CipherSuite, HkdfSha256 } from "@hpke/core";
import { Chacha20Poly1305 } from "@hpke/chacha20poly1305";
import { DhkemX25519HkdfSha256 } from "@hpke/dhkem-x25519";

import { concat } from "../base/bytes.js";

export const SUITE = "X25519, HKDF-SHA256, ChaCha20-Poly1305";
export const OVERHEAD = 48;
export const KEY_BYTES = 32;

const suite = new CipherSuite({
  kem: new DhkemX25519HkdfSha256(),
  kdf: new HkdfSha256(),
  aead: new Chacha20Poly1305(),
});

const exact = (bytes) => bytes.slice().buffer;

/** Seal under a fresh ephemeral key; only the tests of vectors give what it is derived from. */
export async function seal(publicKey, plaintext, info, derivedFrom) {
  const recipientPublicKey = await suite.kem.deserializePublicKey(exact(publicKey));
  const ekm = derivedFrom && exact(derivedFrom);
  const sender = await suite.createSenderContext({ recipientPublicKey, info: exact(info), ekm });
  const sealed = await sender.seal(exact(plaintext));
  return concat(new Uint8Array(sender.enc), new Uint8Array(sealed));
}

export async function open(secretKey, ciphertext, info) {
  if (ciphertext.length < OVERHEAD) throw new Error("too short");
  const recipientKey = await suite.kem.deserializePrivateKey(exact(secretKey));
  const enc = exact(ciphertext.slice(0, KEY_BYTES));
  const recipient = await suite.createRecipientContext({ recipientKey, enc, info: exact(info) });
  return new Uint8Array(await recipient.open(exact(ciphertext.slice(KEY_BYTES))));
}

/** Whether what is sealed to a key is hidden: a point of small order gives a known secret. */
export const hides = (publicKey) =>
  seal(publicKey, new Uint8Array(), new Uint8Array()).then(() => true, () => false);
