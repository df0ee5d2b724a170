/** A report on its way: card, tokens, sealed report; every step again until it is done. */

import { ask, Lost } from "../base/answers.js";
import { isSignedTask, paidWindows } from "../formats/task.js";
import * as client from "./client.js";
import * as outcomes from "./outcomes.js";
import { checkDatum } from "./randomize.js";

const ATTEMPTS = 5;
const MOST_WAIT = 310;
const NO_SECRET = 401;
const GONE = 410;
const NEXT = "Take part in the next window";
const CLOCK = "Set this machine's clock right, or wait for the window to begin";

export const USED =
  "This invitation was used in this window: from another device, under another name, from here " +
  "before the state of this machine was cleared, or by somebody else. Finish there, or take part " +
  "in the next window";

/** What to do about a refusal, in the words of the command-line client. */
export const CARDS = { 404: "There is no card of this window yet, or it is over, or this machine's clock is wrong" };
export const ISSUER = {
  401: "Ask who runs the analyser for an invitation of this task",
  404: "This window has no card, or another issuer serves the task; check the address",
  409: USED,
  410: `The window is over. ${NEXT}`,
  425: CLOCK,
  429: `The issuer has answered this request six times. ${NEXT}`,
};
export const EXCHANGED =
  ". If what you typed there was a pass, the second service's side has it now: do not use it, and ask " +
  "who runs the shuffler for another one";
/** At a retry the first service is asked first: an invitation that was typed as the pass is shown there. */
export const EXCHANGED_LATE =
  ". If this was your invitation, the first service has seen it now: ask who runs the analyser for " +
  "another one";
const STOLEN = "If they were not yours, somebody else has your pass: ask for another one. ";
export const SHUFFLER = {
  401: "Ask who runs the shuffler for a pass of this task",
  403: "The shuffler does not take the tokens: tell who runs the analyser and the shuffler",
  404: "This shuffler has another card for the window, or serves another task",
  409:
    "Another report came with this pass in this window, or this report with another pass. " +
    `${STOLEN}Give the pass of before, or: ${NEXT}`,
  410: `The window is over. ${NEXT}`,
  425: CLOCK,
  429: `Too many reports of this pass were not good. ${STOLEN}${NEXT}`,
};

export const WAITING =
  "An answer was randomised here with another link, and is not known to have arrived: it is sent " +
  "again, whatever you choose now.";

const NOT_KEPT =
  "An answer was given here before, for a time that this device took to be over: it is not kept any " +
  "more, and is not made anew. ";

/** Of a row whose time is over, or was by a clock that was ahead for a while. */
export const OVER = {
  [outcomes.ANSWERED]: `${NOT_KEPT}It had arrived.`,
  [outcomes.UNSURE]: `${NOT_KEPT}It may have arrived.`,
  [outcomes.DESTROYED]: `${NOT_KEPT}It was destroyed with all others of its time, which were too few.`,
  [outcomes.MISSED]: `${NOT_KEPT}Nothing of this time was sent.`,
};

export const REFUSED =
  "The tokens of this time were refused here: nothing of this time was sent, and nothing will be. Take part in " +
  "the next window.";

/** The place of a person's row: known by the invitation, without an issuer by the pass. */
export async function placeOf({ task, taskId, window, pass, invitation }) {
  const byPass = await outcomes.nameOf(pass);
  if (!isSignedTask(task)) return { taskId, window, who: byPass };
  return { taskId, window, who: await outcomes.nameOf(invitation), pass: byPass };
}

/**
 * Take part in a window; returns whether the shuffler had said before that it has the report.
 *
 * Pressing again goes on where it stopped: the same slots, the same request, the same report
 * under a fresh seal. Nothing goes to the shuffler before all tokens are good. Throws an Error
 * whose message is for the participant.
 */
export async function submit({
  task, taskId, pass, invitation = "", datum, window, anotherPerson = false,
  fetcher, pause = wait, attempts = ATTEMPTS, seconds = () => Date.now() / 1000,
}) {
  const place = await placeOf({ task, taskId, window, pass, invitation });
  const sending = { fetcher, pause, attempts };
  // With an issuer another invitation is another person, and it has one draw.
  const adopt = !isSignedTask(task) && !anotherPerson;
  await client.settle({ task, taskId, seconds: seconds() });
  let problem;
  // First: the issuer hears of who takes part before the shuffler can refuse anything.
  await prepare({ task, place, invitation, datum, sending, adopt, seconds }).catch((error) => {
    // What is no invitation may be the pass: then the invitation would go to the shuffler next.
    if (error.status === NO_SECRET) throw error;
    problem = error;
  });
  const report = { task, taskId, pass, sending };
  // Its row decides what is sent; too late is no reason to miss the present window.
  const late = { ...place, window: window - 1 };
  if ((await outcomes.find(late))?.state === outcomes.FINAL) {
    await handIn({ ...report, place: late, sending: { ...sending, attempts: 1 } }).catch((error) => {
      if (error.status === NO_SECRET) throw error;
    });
  }
  if (problem) throw problem;
  const kept = await outcomes.find(place);
  if (!kept) throw new Error(client.GONE);
  if (kept.state === outcomes.SENT) return true;
  if (kept.state !== outcomes.FINAL) {
    throw new Error(kept.state === outcomes.ENDED ? REFUSED : OVER[kept.state]);
  }
  await handIn({ ...report, place });
  return false;
}

/** Draw, and ask for tokens, as far as it is not done: no report leaves, and no pass. */
async function prepare({ task, place, invitation, datum, sending, adopt, seconds }) {
  const { taskId, window } = place;
  const poll = { task, place };
  const issuer = task.issuer?.url.replace(/\/$/, "") ?? "";
  let kept = await outcomes.keep(place, null, { adopt, most: paidWindows(task) });
  if (!kept) {
    // Before anybody is asked: a request for the card alone would tell of a slip.
    checkDatum(task, datum);
    await askWhatWasDestroyed(task, place, sending);
    const signed = await untilAnswered(200, CARDS, sending, () =>
      [`${issuer}/v2/tasks/${taskId}/cards/${window}`]);
    kept = await client.takePart({ task, place, datum, signed, seconds: seconds(), adopt });
  }
  if (kept.state !== outcomes.DRAWN) return;
  try {
    const body = await client.request(poll, kept);
    const answer = await untilAnswered(200, { ...ISSUER, 401: ISSUER[401] + EXCHANGED }, sending, () =>
      [`${issuer}/v2/tokens/${taskId}/${window}`, posted(body, invitation, "token-requests")]);
    await client.finish(poll, kept, answer);
  } catch (error) {
    // Another page may have gone on in the meantime: the row counts.
    const row = await outcomes.find(place);
    if (!row || [outcomes.DRAWN, outcomes.ENDED].includes(row.state)) throw error;
  }
}

/**
 * Where the budget pays for no more, ask the shuffler which windows had too few people: no more
 * than whether there are marks, the same question for everybody.
 */
async function askWhatWasDestroyed(task, place, { fetcher }) {
  const windows = await outcomes.answeredIn(place);
  if (windows.length < paidWindows(task)) return;
  for (const window of windows) {
    const path = `/v2/tasks/${place.taskId}/marks/${window}`;
    const answer = await ask(path, { method: "HEAD" }, { fetcher }).catch((error) => error);
    // Not once more for each window of a long budget.
    if (answer instanceof Lost) return;
    if (answer.status === GONE) await outcomes.keepDestroyed({ ...place, window });
  }
}

/** Send a report that is final until the shuffler has it, and keep that it has. */
async function handIn({ task, taskId, pass, place, sending }) {
  await outcomes.keepPass(place, paidWindows(task));
  const words = { ...SHUFFLER, 401: SHUFFLER[401] + EXCHANGED_LATE };
  await untilAnswered(202, words, sending, async () => {
    const body = await client.sealedReport({ place });
    return [`/v2/reports/${taskId}/${place.window}`, posted(body, pass, "sealed-report")];
  });
  await outcomes.keepSent(place);
}

const posted = (body, secret, kind) => ({
  method: "POST",
  body,
  headers: {
    authorization: `Bearer ${outcomes.plain(secret)}`,
    "content-type": `application/vnd.esa.${kind}`,
  },
});

/**
 * Ask until there is the wanted answer, or one that another attempt cannot mend; its body.
 *
 * What `make` throws is no lost answer: there was nothing to send.
 */
async function untilAnswered(wanted, words, { fetcher, pause, attempts }, make) {
  let waited = false;
  const once = async () => {
    const [url, fields] = await make();
    return ask(url, fields, { fetcher }).catch((error) => {
      if (!(error instanceof Lost)) throw error;
    });
  };
  for (let attempt = 0; attempt < attempts; attempt++) {
    if (attempt) await pause(Math.min(30, 0.2 * 2 ** attempt));
    let answer = await once();
    if (answer?.status === 425 && !waited && (answer.seconds ?? MOST_WAIT) < MOST_WAIT) {
      // It names a time: for a clock a little ahead of its own.
      waited = true;
      await pause(answer.seconds);
      answer = await once();
    }
    if (!answer) continue;
    if (answer.status === wanted) return answer.body;
    if (answer.status < 500 && answer.status !== 408) {
      const remedy = words[answer.status] ?? `A service refused this (${answer.status})`;
      throw Object.assign(new Error(`${remedy}.`), { status: answer.status });
    }
  }
  throw new Error("The service does not answer. Press the button again: the same is sent.");
}

const wait = (seconds) => new Promise((resolve) => setTimeout(resolve, 1000 * seconds));
