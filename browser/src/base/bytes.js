/** Bytes in and out of hexadecimal and big-endian numbers, and what the protocol begins with. */

export const text = (words) => new TextEncoder().encode(words);

/** What every hash, signature and seal begins with, so that none means another: TAG(use). */
export const label = (use) => text(`esa/2 ${use}`);

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

/** Big-endian bytes as a BigInt, and back. */
export const toBig = (bytes) => BigInt(`0x0${toHex(bytes)}`);
export const fromBig = (value, size) => fromHex(value.toString(16).padStart(2 * size, "0"));

/** The length first, in 16 bits. */
export const vec = (bytes) => concat(number(bytes.length, 2), bytes);

/** Below 0, 0 or above 0, as the first bytes come before, with, or after the second ones. */
export function compare(a, b) {
  for (let i = 0; i < a.length && i < b.length; i++) if (a[i] !== b[i]) return a[i] - b[i];
  return a.length - b.length;
}

export const same = (a, b) => compare(a, b) === 0;

/** Pieces of one length. */
export const split = (bytes, size) =>
  Array.from({ length: bytes.length / size }, (_, i) => bytes.slice(size * i, size * (i + 1)));

/** Takes bytes apart from their start; throws where they are too short, or a rest is left. */
export class Reader {
  constructor(bytes) {
    [this.bytes, this.at] = [bytes, 0];
  }

  take(size) {
    if (size > this.bytes.length - this.at) throw new Error("too short");
    this.at += size;
    return this.bytes.slice(this.at - size, this.at);
  }

  number(size) {
    return readNumber(this.take(size));
  }

  vec() {
    return this.take(this.number(2));
  }

  end() {
    if (this.at !== this.bytes.length) throw new Error("too long");
  }
}
