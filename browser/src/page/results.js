/** A published result as rows: label, estimate, error, in the unit of the axis. */

import { fraction } from "../base/fractions.js";

const MOST_PLACES = 12;

/**
 * An estimate and its error as text: to as many places as the error is worth, the error rounded
 * up by what the estimate was rounded, so that what is written is no less true than the result.
 */
export function withError(value, error) {
  const places = error > 0 ? Math.max(0, 1 - Math.floor(Math.log10(error))) : 0;
  const write = places > MOST_PLACES ? (x) => x.toExponential(1) : (x) => x.toFixed(places);
  const estimate = places > MOST_PLACES ? exponential(value, places) : value.toFixed(places);
  if (Number.isSafeInteger(value) && Number.isSafeInteger(error)) return [estimate, write(error)];
  // What is lost in the arithmetic here is less than a part in 10^15 of either number.
  const whole = error + Math.abs(value - Number(estimate));
  return [estimate, up(whole + (whole + Math.abs(value)) * 1e-15, write)];
}

/** A number with an exponent, to a place after the point. */
function exponential(value, place) {
  const size = value === 0 ? 0 : Math.floor(Math.log10(Math.abs(value)));
  return value.toExponential(Math.min(20, Math.max(1, size + place)));
}

/** The least number of this form that is not below. */
function up(x, write) {
  let text = write(x);
  for (let more = 1e-12; Number(text) < x; more *= 2) text = write(x * (1 + more));
  return text;
}

/** A decimal or a ratio as a number: the end of an axis. */
function numberOf(words) {
  const [above, under] = fraction(words);
  return Number(above) / Number(under);
}

/** Rows of a result: choices with counts, or yes and no, or a mean. */
export function rowsOf(task, result) {
  if (result.counts) {
    const names = task.domain.length ? task.domain : [...Array(task.size).keys()].map(String);
    return names.map((label) => ({
      label,
      // A choice may be named as what every object has.
      value: Object.hasOwn(result.counts, label) ? result.counts[label] : 0,
      error: result.error_of_all_counts,
      low: 0,
      high: result.users,
    }));
  }
  if (result.mean !== undefined) {
    const [low, high] = task.bounds.map(numberOf);
    return [{ label: "mean", value: result.mean, error: result.error_of_mean, low, high }];
  }
  const share = { error: result.error_of_sum, low: 0, high: result.users };
  return [
    { label: "yes", value: result.sum, ...share },
    { label: "no", value: result.users - result.sum, ...share },
  ];
}

/** What a choice that nobody made shows, by protocol: noise may be all that there is. */
const NOBODY = {
  histogram: "shows 0",
  low_communication_histogram: "may show a number above 0",
  paired_histogram: "may show another number than 0, also one below it",
};

/** What the error bars mean, and for how many people. */
export function captionOf(task, result) {
  const sure = Math.round(100 * (1 - Number(result.error_fails_with_probability)));
  const caption =
    `${result.users} people answered. The bars show the estimate; the true number lies inside the ` +
    `whiskers with ${sure}% confidence`;
  if (result.counts) {
    return `${caption}, for all choices together. A choice that nobody made ${NOBODY[task.protocol]}.`;
  }
  return (
    `${caption}. An estimate may lie below 0 or above everybody: it is not corrected, so that it ` +
    "is right on average."
  );
}

/** The words that the guarantee uses and this page does not. */
export const termsOf = (task) =>
  'In the guarantee, "shuffler" is the first service and "analyser" the second, whose public ' +
  'side is the issuer: a "pass" is what the first one gave you, an "invitation" (or "account") ' +
  `what the second one's side gave you. A "user" is whoever may answer once (here: ${task.unit}), ` +
  'and a "row" what one user sent; "epsilon" ' +
  "measures how much the result can tell about it: chances change by at most a factor e^epsilon, " +
  "where e is about 2.718.";

/** The guarantee of the result, as the service states it, and what it was for this batch. */
export function guaranteeOf(result) {
  const found = result.epsilon_of_this_batch;
  const exact = found === null ? "" : ` For this batch, epsilon was ${thousandths(found)}.`;
  return result.sentence + exact;
}

const thousandths = (x) => (Math.ceil(x * 1000) / 1000).toString();
