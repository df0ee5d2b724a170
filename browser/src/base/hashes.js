/** SHA-2 and HKDF-Expand of the browser. */

import { concat } from "./bytes.js";

const digest = async (name, bytes) => new Uint8Array(await crypto.subtle.digest(name, bytes));

export const sha256 = (...parts) => digest("SHA-256", concat(...parts));
export const sha384 = (...parts) => digest("SHA-384", concat(...parts));

/** HKDF-Expand with SHA-256 (RFC 5869, section 2.3): WebCrypto has it with Extract alone. */
export async function expand(key, info, size) {
  const algorithm = { name: "HMAC", hash: "SHA-256" };
  const mac = await crypto.subtle.importKey("raw", key, algorithm, false, ["sign"]);
  let [whole, block] = [new Uint8Array(), new Uint8Array()];
  for (let at = 1; whole.length < size; at++) {
    const input = concat(block, info, Uint8Array.of(at));
    block = new Uint8Array(await crypto.subtle.sign("HMAC", mac, input));
    whole = concat(whole, block);
  }
  return whole.slice(0, size);
}
