/** Slots and the report that carries them; see smoothdp/services/formats/report.py and slots.py. */

import { compare, concat, label, number, readNumber, split, text } from "../base/bytes.js";
import { sha256 } from "../base/hashes.js";
import { MODULUS_BYTES } from "./blind.js";
import { encapsulationHeader, HASH_BYTES, VERSION } from "./card.js";
import { open, OVERHEAD, seal } from "./hybrid.js";

export const DUMMY = 0xffffffff;
export const SLOT_BYTES = 4 + OVERHEAD;
const HEADER_BYTES = 7;
const START_BYTES = 3 + HASH_BYTES;
const INFO = concat(text("message/vnd.esa.report request"), new Uint8Array(1));

const slotInfo = (cardDigest) => concat(label("inner"), cardDigest);

/** A slot of 52 bytes for each value or dummy, ascending: their order says nothing of the values. */
export async function sealSlots(values, card) {
  const info = slotInfo(card.digest);
  const slots = [];
  for (const value of values) slots.push(await seal(card.innerKey, number(value, 4), info));
  return slots.sort(compare);
}

/** The value or dummy in a slot. For tests: a client never opens. */
export async function openSlot(slot, innerSecret, cardDigest) {
  const plain = await open(innerSecret, slot, slotInfo(cardDigest));
  if (plain.length !== 4) throw new Error("another length inside");
  return readNumber(plain);
}

/** The report of these slots, with a signature each or with none. */
export const encodeReport = (cardDigest, slots, signatures) =>
  concat(
    number(VERSION, 1), number(slots.length, 2), cardDigest,
    ...slots.flatMap((slot, i) => (signatures.length ? [slot, signatures[i]] : [slot])),
  );

export const slotsOfReport = (report, isSigned) =>
  split(report.slice(START_BYTES), SLOT_BYTES + (isSigned ? MODULUS_BYTES : 0)).map((record) =>
    record.slice(0, SLOT_BYTES));

/** The same for the same report: what a retry repeats. */
export const reportId = (report) => sha256(label("report"), report);

/** A report sealed to the card's gateway key, fresh at each call; 55 bytes longer. */
export async function sealReport(report, card, derivedFrom) {
  const header = encapsulationHeader(card.window);
  return concat(header, await seal(card.gatewayKey, report, concat(INFO, header), derivedFrom));
}

/** For tests: what the gateway finds. */
export function openReport(sealed, gatewaySecret) {
  const info = concat(INFO, sealed.slice(0, HEADER_BYTES));
  return open(gatewaySecret, sealed.slice(HEADER_BYTES), info);
}
