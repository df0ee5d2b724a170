/** The same laws as the protocols of smoothdp.services.formats.design, from whole numbers alone. */

import { fraction, less, ratio, round, subtract } from "../base/fractions.js";
import { below, bernoulli, bits, randomBytes } from "../base/random.js";
import { DUMMY } from "../formats/report.js";
import { clumpSize, shareOfNoise, splitByUrn } from "./noise.js";

const WORD_BITS = 64;
const UNIT_BITS = 62n;

/** What the parameters of a task are, in their order. */
const PARAMETERS = {
  low_communication_histogram: ["false_positive"],
  paired_count: ["clump", "largest", "design"],
  paired_histogram: ["clump", "largest", "design"],
  split_sum: ["modulusBits", "design"],
};

const parameter = (task, name) =>
  task.parameters[PARAMETERS[task.protocol].indexOf(name)];

/** Protocols whose data are numbers between two bounds, and those with bins. */
export const isNumber = ({ protocol }) => protocol === "real_sum" || protocol === "split_sum";
export const isBinned = ({ protocol }) => protocol.endsWith("histogram");

/** Throws where a datum is none of the task's. */
export function checkDatum(task, datum) {
  if (isNumber(task)) fraction(datum);
  else if (isBinned(task)) binOf(task, datum);
  else bitOf(datum);
}

/** The values of all M slots: messages, then dummies. Slots are sorted when they are sealed. */
export function randomize(task, datum, source = randomBytes) {
  const make = MESSAGES[task.protocol];
  if (!make) throw new Error("This page does not know what this poll collects.");
  const values = make(task, datum, source);
  while (values.length < task.slots) values.push(DUMMY);
  return values;
}

const MESSAGES = {
  boolean_sum: (task, datum, source) => [flip(task, bitOf(datum), source)],

  real_sum(task, datum, source) {
    const ones = roundedPart(task, datum, source);
    return Array.from({ length: task.size }, (_, i) => flip(task, i < ones ? 1 : 0, source));
  },

  histogram(task, datum, source) {
    const omission = fraction(task.noise);
    const noise = allBins(task).filter(() => !bernoulli(omission, source));
    return [binOf(task, datum), ...noise];
  },

  /** Noise that does not fit is drawn again, all bins together. */
  low_communication_histogram(task, datum, source) {
    const own = binOf(task, datum);
    const probability = fraction(task.noise);
    for (;;) {
      const noise = allBins(task).filter(() => bernoulli(probability, source));
      if (noise.length < task.slots) return [own, ...noise];
    }
  },

  paired_count: (task, datum, source) => signs(task, bitOf(datum), 1, source),

  paired_histogram: (task, datum, source) =>
    signs(task, 2 * binOf(task, datum) + 1, task.size, source),

  /** m shares, all but the last uniform, of a number and its noise modulo 2^b. */
  split_sum(task, datum, source) {
    const rest = BigInt(parameter(task, "modulusBits"));
    const design = BigInt(parameter(task, "design"));
    const rate = ratio(fraction(task.noise), [BigInt(task.size), 1n]);
    let total = BigInt(roundedPart(task, datum, source));
    total += shareOfNoise(1n, design, rate, source) - shareOfNoise(1n, design, rate, source);
    const shares = Array.from({ length: task.slots - 1 }, () => bits(Number(rest), source));
    const last = total - shares.reduce((sum, share) => sum + share, 0n);
    return [...shares, BigInt.asUintN(Number(rest), last)].map(Number);
  },
};

/** The own sign, noise of every cell, and pairs: 2 j is - of cell j, 2 j + 1 is +. */
function signs(task, own, cells, source) {
  const design = BigInt(parameter(task, "design"));
  const largest = BigInt(parameter(task, "largest"));
  const [rate, clump] = [fraction(task.noise), fraction(parameter(task, "clump"))];
  const noise = () => {
    const units = shareOfNoise(BigInt(cells), design, rate, source);
    return splitByUrn(units, BigInt(cells), design, source);
  };
  for (;;) {
    const sent = [own, ...noise().map((cell) => 2 * cell + 1), ...noise().map((cell) => 2 * cell)];
    for (let cell = 0; cell < cells; cell++) {
      const pairs = bernoulli(clump, source) ? clumpSize(largest, source) : 0;
      for (let pair = 0; pair < pairs; pair++) sent.push(2 * cell + 1, 2 * cell);
    }
    // Noise that does not fit is drawn again, by a rule that looks at noise alone.
    if (sent.length <= task.slots) return sent;
  }
}

const flip = (task, bit, source) => bit ^ (bits(WORD_BITS, source) < BigInt(task.noise) ? 1 : 0);
const allBins = (task) => Array.from({ length: task.size }, (_, bin) => bin);

function bitOf(datum) {
  if (datum !== 0 && datum !== 1) throw new Error("the answer must be 0 or 1");
  return datum;
}

function binOf(task, datum) {
  // Whichever name it is takes as long: the issuer sees when tokens are asked for.
  const places = new Map(task.domain.map((name, place) => [name, place]));
  const place = task.domain.length ? (places.get(datum) ?? -1) : datum;
  if (!Number.isInteger(place) || place < 0 || place >= task.size) {
    throw new Error("the answer must be one of the choices");
  }
  return place;
}

/** The part of the bounds that a number is, times the size, rounded at random with the right mean. */
function roundedPart(task, datum, source) {
  const [low, high] = task.bounds.map(fraction);
  let value = fraction(datum);
  if (less(value, low)) value = low;
  if (less(high, value)) value = high;
  const [above, under] = ratio(subtract(value, low), subtract(high, low));
  const product = BigInt(task.size) * round([above << UNIT_BITS, under]);
  const rest = product & ((1n << UNIT_BITS) - 1n);
  return Number(product >> UNIT_BITS) + (bits(Number(UNIT_BITS), source) < rest ? 1 : 0);
}
