/** RFC 9180 base mode with X25519, HKDF-SHA256, ChaCha20-Poly1305; the result is enc | ct. */

import { CipherSuite, HkdfSha256 } from "@hpke/core";
import { Chacha20Poly1305 } from "@hpke/chacha20poly1305";
import { DhkemX25519HkdfSha256 } from "@hpke/dhkem-x25519";

import { concat } from "./bytes.js";

export const SUITE = "X25519, HKDF-SHA256, ChaCha20-Poly1305";
export const OVERHEAD = 48;
const KEY_BYTES = 32;

const suite = new CipherSuite({
  kem: new DhkemX25519HkdfSha256(),
  kdf: new HkdfSha256(),
  aead: new Chacha20Poly1305(),
});

const exact = (bytes) => bytes.slice().buffer;

export async function seal(publicKey, plaintext, info) {
  const recipientPublicKey = await suite.kem.deserializePublicKey(exact(publicKey));
  const sender = await suite.createSenderContext({ recipientPublicKey, info: exact(info) });
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
