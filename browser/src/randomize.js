/** The same laws as smoothdp.services.client.client.randomize, from whole numbers alone. */

import { DUMMY } from "./envelope.js";
import { fraction, less, ratio, round, subtract } from "./fractions.js";
import { below, bernoulli, bits, randomBytes } from "./random.js";

const WORD_BITS = 64;
const UNIT_BITS = 62n;

export const slotsOf = (task) => (task.protocol === "histogram" ? task.size + 1 : task.size);

/** The values of all slots in a random order: messages, then dummies. */
export function randomize(task, datum, source = randomBytes) {
  const values = messages(task, datum, source);
  while (values.length < slotsOf(task)) values.push(DUMMY);
  for (let last = values.length - 1; last > 0; last--) {
    const other = Number(below(last + 1, source));
    [values[last], values[other]] = [values[other], values[last]];
  }
  return values;
}

function messages(task, datum, source) {
  if (task.protocol === "histogram") {
    const place = binOf(task, datum);
    const omission = fraction(task.noise);
    const noise = [];
    for (let bin = 0; bin < task.size; bin++) {
      if (!bernoulli(omission, source)) noise.push(bin);
    }
    return [place, ...noise];
  }
  const threshold = BigInt(task.noise);
  const flip = (bit) => bit ^ (bits(WORD_BITS, source) < threshold ? 1 : 0);
  if (task.protocol === "boolean_sum") {
    if (datum !== 0 && datum !== 1) throw new Error("the answer must be 0 or 1");
    return [flip(datum)];
  }
  if (task.protocol !== "real_sum") throw new Error(`unknown protocol ${task.protocol}`);
  const ones = onesOf(task, datum, source);
  return Array.from({ length: task.size }, (_, i) => flip(i < ones ? 1 : 0));
}

function binOf(task, datum) {
  const place = task.domain.length ? task.domain.indexOf(datum) : datum;
  if (!Number.isInteger(place) || place < 0 || place >= task.size) {
    throw new Error("the answer must be one of the choices");
  }
  return place;
}

/** How many bits code a number, rounded at random so that their mean is the number. */
function onesOf(task, datum, source) {
  const [low, high] = task.bounds.map(fraction);
  let value = fraction(datum);
  if (less(value, low)) value = low;
  if (less(high, value)) value = high;
  const unit = round(ratio(...scaled(subtract(value, low), subtract(high, low))));
  const product = BigInt(task.size) * unit;
  const rest = product & ((1n << UNIT_BITS) - 1n);
  return Number(product >> UNIT_BITS) + (bits(Number(UNIT_BITS), source) < rest ? 1 : 0);
}

const scaled = ([a, b], whole) => [[a << UNIT_BITS, b], whole];
