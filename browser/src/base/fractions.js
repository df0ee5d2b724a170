/** Numbers as exact ratios [numerator, denominator] of BigInts, denominator > 0. */

const NUMBER = /^(-?)([0-9]{1,60})(?:\/([0-9]{1,60})|\.([0-9]{1,60}))?(?:[eE](-?[0-9]{1,3}))?$/;

// What was typed is private: it is not repeated.
const NOT_A_NUMBER =
  "That is not a number. Write it in digits, with at most one point, such as 3.5. Nothing of it was sent.";

export function fraction(words) {
  const found = NUMBER.exec(String(words).trim());
  if (!found) throw new Error(NOT_A_NUMBER);
  const [, sign, whole, below, decimals = "", power = "0"] = found;
  let numerator = BigInt(whole + decimals) * (sign ? -1n : 1n);
  let denominator = below === undefined ? 10n ** BigInt(decimals.length) : BigInt(below);
  if (denominator === 0n) throw new Error(NOT_A_NUMBER);
  const shift = Number(power);
  if (shift >= 0) numerator *= 10n ** BigInt(shift);
  else denominator *= 10n ** BigInt(-shift);
  return [numerator, denominator];
}

export const subtract = ([a, b], [c, d]) => [a * d - c * b, b * d];
export const less = ([a, b], [c, d]) => a * d < c * b;
export const ratio = ([a, b], [c, d]) => (c < 0n ? [-a * d, -b * c] : [a * d, b * c]);

/** The nearest whole number to a ratio that is not negative; halves go to the even one. */
export function round([a, b]) {
  const whole = a / b;
  const twice = 2n * (a % b);
  return twice > b || (twice === b && whole % 2n === 1n) ? whole + 1n : whole;
}

/** For display only. */
export const approximate = ([a, b]) => {
  const scale = 10n ** 18n;
  return Number((a * scale) / b) / 1e18;
};
