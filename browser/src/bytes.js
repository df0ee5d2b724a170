/** Bytes in and out of hexadecimal and fixed big-endian numbers. */

export const text = (words) => new TextEncoder().encode(words);

export function concat(...parts) {
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

export function fromHex(words) {
  if (typeof words !== "string" || !/^([0-9a-f]{2})*$/i.test(words)) {
    throw new Error("not hexadecimal");
  }
  return Uint8Array.from(words.match(/../g) ?? [], (pair) => parseInt(pair, 16));
}

export const toHex = (bytes) => Array.from(bytes, (b) => b.toString(16).padStart(2, "0")).join("");

/** A whole number of up to 32 bits as so many bytes. */
export function number(value, size) {
  const limit = 2 ** (8 * size);
  if (!Number.isInteger(value) || value < 0 || value >= limit) throw new Error("out of range");
  return Uint8Array.from({ length: size }, (_, i) => Math.floor(value / 256 ** (size - 1 - i)) % 256);
}

export const readNumber = (bytes) => bytes.reduce((sum, byte) => sum * 256 + byte, 0);
