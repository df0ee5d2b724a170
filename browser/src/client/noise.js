/**
 * Exact draws of shared noise; see smoothdp/exact/random/geometric.py, shuffle/noise_shares.py.
 *
 * No exponential is computed: a coin of probability e^-x comes from coins of rational
 * probabilities (Canonne, Kamath, Steinke 2020). The time depends on the noise, not on the datum.
 */

import { below, bernoulli } from "../base/random.js";

/** True with probability e^-x, for a ratio x >= 0: the first failure ends it. */
export function bernoulliExp([above, under], source) {
  for (let whole = above / under; whole > 0n; whole--) {
    if (!smallExp([1n, 1n], source)) return false;
  }
  return smallExp([above % under, under], source);
}

/** For x in [0, 1]: x^(k-1) / (k-1)! - x^k / k! that k is the first failure; k is odd with e^-x. */
function smallExp([above, under], source) {
  let k = 1n;
  while (bernoulli([above, under * k], source)) k++;
  return k % 2n === 1n;
}

/** k >= 0 with probability (1 - q) q^k, q = e^-rate, for a ratio above 0. */
export function geometric([s, t], source) {
  let u;
  do u = below(t, source); while (!bernoulliExp([u, t], source));
  let v = 0n;
  while (bernoulliExp([1n, 1n], source)) v++;
  return (u + t * v) / s;
}

/**
 * A draw of NB(cells / design, e^-rate): the noise of so many cells.
 *
 * A geometric number is NB(r) + NB(1 - r). Given it, the first part has the law of an urn
 * (proofs/split-sums#1): after x successes, draw i is one with probability (r + x) / (1 + i).
 */
export function shareOfNoise(cells, design, rate, source) {
  let total = 0n;
  for (let whole = cells / design; whole > 0n; whole--) total += geometric(rate, source);
  const rest = cells % design;
  if (!rest) return total;
  let successes = 0n;
  const draws = geometric(rate, source);
  for (let draw = 0n; draw < draws; draw++) {
    if (below(design * (draw + 1n), source) < rest + design * successes) successes++;
  }
  return total + successes;
}

/** The cell of each unit of a total: a cell's weight is 1 / design plus its units. */
export function splitByUrn(units, cells, design, source) {
  const found = [];
  for (let unit = 0n; unit < units; unit++) {
    const ticket = below(cells + design * unit, source);
    found.push(ticket < cells ? Number(ticket) : found[Number((ticket - cells) / design)]);
  }
  return found;
}

/** A size j = 1..k of probability 1 / (j H_k), by whole weights k! / j. */
export function clumpSize(largest, source) {
  let whole = 1n;
  for (let size = 2n; size <= largest; size++) whole *= size;
  let total = 0n;
  for (let size = 1n; size <= largest; size++) total += whole / size;
  let ticket = below(total, source);
  let size = 1n;
  for (; ticket >= whole / size; size++) ticket -= whole / size;
  return Number(size);
}
