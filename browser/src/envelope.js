/** The envelope of one client and window: see smoothdp/services/wire/envelope.py. */

import { concat, number, readNumber, text } from "./bytes.js";
import { OVERHEAD, open, seal } from "./hybrid.js";

export const DUMMY = 0xffffffff;
export const REPORT_ID_BYTES = 16;
const VERSION = 1;
const HEADER_BYTES = 40;
const SLOT_BYTES = 4 + OVERHEAD;
const INNER = text("esa/1 inner");
const OUTER = text("esa/1 outer");

export const envelopeBytes = (slots) =>
  HEADER_BYTES + REPORT_ID_BYTES + OVERHEAD + SLOT_BYTES * slots;

const innerInfo = (taskId, window) => concat(INNER, taskId, number(window, 4));

/** The inner layer: one slot of 52 bytes per value or dummy, joined. */
export async function sealValues({ innerKey, taskId, window, values }) {
  const info = innerInfo(taskId, window);
  const slots = [];
  for (const value of values) slots.push(await seal(innerKey, number(value, 4), info));
  return concat(...slots);
}

/** The outer layer around slots that are sealed already. */
export async function sealEnvelope({ keyId, outerKey, taskId, window, reportId, slots }) {
  const count = slots.length / SLOT_BYTES;
  const header = concat(
    number(VERSION, 1), number(keyId, 1), number(count, 2), taskId, number(window, 4),
  );
  return concat(header, await seal(outerKey, concat(reportId, slots), concat(OUTER, header)));
}

/** Throws unless the bytes are an envelope sealed to this key. For tests: a client never opens. */
export async function openEnvelope(envelope, outerSecret) {
  if (envelope.length < HEADER_BYTES || envelope[0] !== VERSION) throw new Error("no envelope");
  const header = envelope.slice(0, HEADER_BYTES);
  const slots = readNumber(header.slice(2, 4));
  if (slots < 1 || envelope.length !== envelopeBytes(slots)) throw new Error("another length");
  const sealed = envelope.slice(HEADER_BYTES);
  const bundle = await open(outerSecret, sealed, concat(OUTER, header));
  return {
    reportId: bundle.slice(0, REPORT_ID_BYTES),
    slots: Array.from({ length: slots }, (_, i) =>
      bundle.slice(REPORT_ID_BYTES + SLOT_BYTES * i, REPORT_ID_BYTES + SLOT_BYTES * (i + 1))),
  };
}

export async function openSlot(slot, innerSecret, taskId, window) {
  const plain = await open(innerSecret, slot, innerInfo(taskId, window));
  if (plain.length !== 4) throw new Error("another length inside");
  return readNumber(plain);
}
