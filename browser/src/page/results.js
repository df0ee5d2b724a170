/** A published result as rows: label, estimate, error, in the unit of the axis. */

/** Numbers to as many places as the error bar is worth. */
export function rounded(value, error) {
  const places = error > 0 ? Math.max(0, 1 - Math.floor(Math.log10(error))) : 0;
  return value.toFixed(Math.min(12, places));
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
    const [low, high] = task.bounds.map(Number);
    return [{ label: "mean", value: result.mean, error: result.error_of_mean, low, high }];
  }
  const share = { error: result.error_of_sum, low: 0, high: result.users };
  return [
    { label: "yes", value: result.sum, ...share },
    { label: "no", value: result.users - result.sum, ...share },
  ];
}

/** What the error bars mean, and for how many people. */
export function captionOf(result) {
  const sure = Math.round(100 * (1 - Number(result.error_fails_with_probability)));
  const caption =
    `${result.users} people answered. The bars show the estimate; the true number lies inside the ` +
    `whiskers with ${sure}% confidence`;
  if (result.counts) return `${caption}, for all choices together. A choice that nobody made shows 0.`;
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
  const exact = found === null ? "" : ` For this batch, epsilon was ${up(found)}.`;
  return result.sentence + exact;
}

const up = (x) => (Math.ceil(x * 1000) / 1000).toString();
