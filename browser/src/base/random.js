/** Exact randomness from the system's generator: whole numbers only, no floats. */

export function randomBytes(size) {
  const bytes = new Uint8Array(size);
  for (let at = 0; at < size; at += 65536) {
    crypto.getRandomValues(bytes.subarray(at, Math.min(size, at + 65536)));
  }
  return bytes;
}

/** A uniform whole number of so many bits, as a BigInt. */
export function bits(count, source = randomBytes) {
  let value = 0n;
  for (const byte of source(Math.ceil(count / 8))) value = (value << 8n) | BigInt(byte);
  return value & ((1n << BigInt(count)) - 1n);
}

/** A uniform whole number below n, exactly, by rejection. */
export function below(n, source = randomBytes) {
  const limit = BigInt(n);
  if (limit < 1n) throw new Error("n must be at least 1");
  const count = limit.toString(2).length;
  for (;;) {
    const value = bits(count, source);
    if (value < limit) return value;
  }
}

/** True with probability numerator / denominator, exactly. */
export const bernoulli = ([numerator, denominator], source = randomBytes) =>
  below(denominator, source) < numerator;
