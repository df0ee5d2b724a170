/** The client: draws once per window and keeps that; all that it sends follows from the row. */

import { concat, split } from "../base/bytes.js";
import { randomBytes } from "../base/random.js";
import { TokenRefused } from "../formats/blind.js";
import { checkCard, openCard } from "../formats/card.js";
import { joinedMarks } from "../formats/marks.js";
import { encodeReport, sealReport, sealSlots, SLOT_BYTES, slotsOfReport } from "../formats/report.js";
import {
  CLOCK_SECONDS, firstLive, firstNear, isNear, isSignedTask, paidWindows,
} from "../formats/task.js";
import { finalizeAll, tokenRequest } from "../formats/tokens.js";
import * as outcomes from "./outcomes.js";
import { randomize } from "./randomize.js";

const SEED_BYTES = 32;

export const CLOCK =
  "That time is not the present one by the clock of this device. Nothing of this time was sent. Set the clock " +
  "right, or load this page again.";

export const GONE =
  "What was kept of this answer is not there any more: its time is over by the clock of this device, " +
  "or the storage of this page was cleared. Nothing more is sent.";

/**
 * Check the card, randomise and seal a datum, and keep that; return the row that counts.
 *
 * If there is a row already, the datum is not looked at, and the card is not used.
 */
export async function takePart({ task, place, datum, signed, seconds, adopt = false }) {
  const most = paidWindows(task);
  const earlier = await outcomes.keep(place, null, { adopt, most });
  if (earlier) return earlier;
  const { taskId, window } = place;
  if (!isNear(task, window, seconds)) throw new Error(CLOCK);
  const card = await checkCard(signed, { task, taskId, window });
  const slots = await sealSlots(randomize(task, datum), card);
  // Whichever poll is loaded then replaces it by its marks: what that takes of the task is kept.
  const over = (window + 1) * task.window_seconds, ends = over + task.grace_seconds;
  const drawnEnds = Math.min(ends, over + CLOCK_SECONDS);
  const row = isSignedTask(task)
    ? { state: outcomes.DRAWN, slots: concat(...slots), seed: randomBytes(SEED_BYTES), drawnEnds }
    : { state: outcomes.FINAL, report: encodeReport(card.digest, slots, []) };
  const kept = { cardDigest: card.digest, ends, isSigned: isSignedTask(task), ...row };
  const fresh = { row: kept, signed };
  return outcomes.keep(place, fresh, { adopt, most });
}

/** The body that asks the issuer for tokens: the same bytes at each call. */
export const request = (poll, row) => orEnd(poll.place, async () => tokenRequest(await drawn(poll, row)));

/** Finalize all tokens; keep the report and erase slots and seed. */
export const finish = (poll, row, answer) =>
  orEnd(poll.place, async () => {
    const from = await drawn(poll, row);
    const signatures = await finalizeAll(from, answer);
    const report = encodeReport(from.card.digest, from.slots, signatures);
    await outcomes.keepReport(poll.place, report);
  });

/** The report sealed to the gateway key of its card: under a fresh seal each time. */
export async function sealedReport({ place }) {
  const { report } = (await outcomes.find(place)) ?? {};
  if (!report) throw new Error(GONE);
  return sealReport(report, await cardOf(place));
}

/** Put marks in the place of the reports of windows that are over, of all persons and polls. */
export async function settle({ task, taskId, seconds }) {
  const live = firstLive(task, seconds);
  // No tokens are given in the grace: what has none can reach nobody.
  const before = { window: live, begun: Math.max(live, firstNear(task, seconds)) };
  for (const [key, row] of await outcomes.liveBefore(taskId, before, seconds)) {
    await outcomes.keepMarks(key, await ownMarks(row, row.isSigned ?? isSignedTask(task)));
  }
  await outcomes.forgetCards(taskId, live);
}

/** The marks of a row, which may be in the place of its report already, joined. */
export async function ownMarks(row, isSigned) {
  if (!row?.report) return row?.marks ?? new Uint8Array();
  return joinedMarks(slotsOfReport(row.report, isSigned));
}

async function cardOf(place) {
  const signed = await outcomes.cardOf(place);
  if (!signed) throw new Error(GONE);
  return openCard(signed);
}

async function drawn({ task, place }, { slots, seed }) {
  return {
    card: await cardOf(place),
    issuerName: task.issuer.name,
    origin: task.origin,
    slots: split(slots, SLOT_BYTES),
    seed,
  };
}

/** A key or token that is refused ends the window for this person: the draw is destroyed. */
async function orEnd(place, work) {
  try {
    return await work();
  } catch (error) {
    if (error instanceof TokenRefused) await outcomes.keepEnd(place);
    throw error;
  }
}
