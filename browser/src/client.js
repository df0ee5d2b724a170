/** The client: checks the task, randomises and seals once per window, and sends the same again. */

import { fromHex, toHex } from "./bytes.js";
import { REPORT_ID_BYTES, sealEnvelope, sealValues } from "./envelope.js";
import { fraction, ratio } from "./fractions.js";
import { SUITE } from "./hybrid.js";
import * as outcomes from "./outcomes.js";
import { randomBytes } from "./random.js";
import { randomize } from "./randomize.js";

const ATTEMPTS = 5;
const OUTDATED_KEY = 409;

export const WORDS = {
  400: "The service did not understand this report.",
  401: "The link you were given is not valid for this poll. Ask for a new one.",
  404: "This poll is not here any more.",
  410: "This poll is closed.",
  425: "This poll is not open yet, or the clock of this device is wrong.",
  429: "An answer was already sent with this link from another browser.",
};

export const WAITING =
  "An answer was randomised here with another link, and is not known to have arrived: it is sent " +
  "again, whatever you choose now.";

export const OVER =
  "An answer was given here before, for a time that this device took to be over: what was sent is " +
  "not kept any more, and is not made anew. Nothing was sent now.";

/** Why this browser cannot take part, or an empty string. */
export function obstacle(scope = globalThis) {
  if (!scope.crypto?.subtle || !scope.crypto.getRandomValues) {
    return (
      "This browser cannot encrypt here: it has no WebCrypto, or the page did not come over " +
      "https. Nothing was sent. Use an up-to-date browser and an https address."
    );
  }
  return storage(scope) ? "" : `Nothing was sent. ${outcomes.NO_STORAGE}`;
}

/** Reading the name alone throws where storage is forbidden. */
function storage(scope) {
  try {
    return scope.indexedDB;
  } catch {
    return null;
  }
}

/** The task of a canonical encoding, if its hash is the name that was agreed on. */
export async function readTask(encoded, taskId) {
  const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", encoded));
  if (toHex(hash) !== taskId) throw new Error("The terms of this poll are not those of its name.");
  const task = JSON.parse(new TextDecoder().decode(encoded));
  if (task.format !== 1 || task.suite !== SUITE) throw new Error("This poll needs a newer page.");
  return task;
}

export const windowAt = (task, seconds) => Math.floor(seconds / task.window_seconds);

/** How many windows the budget of a task pays for: what the analyser's ledger lets out. */
export function paidWindows(task) {
  const counts = ["epsilon", "delta"].flatMap((name) => {
    const [above, below] = ratio(fraction(task[`budget_${name}`]), fraction(task[name]));
    return below ? [Number(above / below)] : [];
  });
  return Math.min(...counts);
}

/** Whether every window that the budget pays for has its result: no answer can count any more. */
export const isClosed = (task, results) =>
  new Set(results.map((result) => result.window)).size >= paidWindows(task);

/**
 * The bytes to send for a window: the same until the shuffler's key changes.
 *
 * Under another key they hold the same slots, which are sealed once and stored before anything is
 * sent: sealed anew, one answer would be several to whoever counts. A report of another token that
 * is not known to be accepted is sent again too, unless another person answers.
 */
export async function envelopeFor({
  task, taskId, token, window, datum, keyId, outerKey, anotherPerson = false,
}) {
  const place = { taskId, window, token };
  await outcomes.forgetBefore(taskId, window);
  const adopt = !anotherPerson;
  let kept = await outcomes.keep(place, null, { adopt });
  if (!kept) kept = await outcomes.keep(place, await draw({ task, taskId, window, datum }), { adopt });
  if (!kept.slots) throw new Error(OVER);
  const sealedTo = toHex(outerKey);
  if (kept.envelope && kept.keyId === keyId && kept.sealedTo === sealedTo) return kept.envelope;
  const { reportId, slots } = kept;
  const envelope = await sealEnvelope({
    keyId, outerKey, taskId: fromHex(taskId), window, reportId, slots,
  });
  await outcomes.replace(place, { reportId, slots, keyId, sealedTo, envelope });
  return envelope;
}

/** A new report: the one place where answers are randomised and slots are sealed. */
async function draw({ task, taskId, window, datum }) {
  const values = randomize(task, datum);
  const slots = await sealValues({
    innerKey: fromHex(task.analyzer_key), taskId: fromHex(taskId), window, values,
  });
  return { reportId: randomBytes(REPORT_ID_BYTES), slots };
}

/** Send a datum once; throws an Error whose message is for the participant. */
export async function submit({
  task, taskId, token, datum, window, anotherPerson = false, fetcher = fetch, pause = wait,
}) {
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    if (attempt) await pause(Math.min(30, 0.2 * 2 ** attempt));
    const answer = await once({ task, taskId, token, datum, window, anotherPerson, fetcher });
    if (answer === 202) return outcomes.keepAccepted({ taskId, window, token });
    if (answer !== 0 && answer !== OUTDATED_KEY && answer !== 408 && answer < 500) {
      throw new Error(WORDS[answer] ?? `The service refused the report (${answer}).`);
    }
  }
  throw new Error("The service does not answer. Press the button again: the same report is sent.");
}

async function once({ task, taskId, token, datum, window, anotherPerson, fetcher }) {
  let found;
  try {
    found = await fetcher("/v1/keys", { cache: "no-store" });
    if (!found.ok) return found.status;
    found = await found.json();
  } catch {
    return 0;
  }
  const outerKey = fromHex(found.public_key);
  const envelope = await envelopeFor({
    task, taskId, token, window, datum, keyId: found.key_id, outerKey, anotherPerson,
  });
  try {
    const answer = await fetcher(`/v1/tasks/${taskId}/reports`, {
      method: "POST",
      body: envelope,
      headers: { authorization: `Bearer ${token}`, "content-type": "application/octet-stream" },
      credentials: "omit",
      referrerPolicy: "no-referrer",
    });
    return answer.status;
  } catch {
    return 0;
  }
}

const wait = (seconds) => new Promise((resolve) => setTimeout(resolve, 1000 * seconds));

