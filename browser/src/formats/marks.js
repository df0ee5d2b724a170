/** Marks of a batch and its header; see smoothdp/services/formats/marks.py and batch.py. */

import { compare, concat, label, number, Reader, same, split } from "../base/bytes.js";
import { sha256 } from "../base/hashes.js";
import { HASH_BYTES, VERSION } from "./card.js";
import { isSigned, SIGNATURE_BYTES } from "./signing.js";

export const MARK_BYTES = 16;
const BATCH_ID_BYTES = 16;
const PART_RECORDS = 1 << 14;

/** The mark of a slot: a function of the ciphertext, it says nothing else. */
export const markOf = async (slot) => (await sha256(label("mark"), slot)).slice(0, MARK_BYTES);

/** The file of these marks, in whatever order they come. For tests: a client reads it. */
export const encodeMarks = (cardDigest, marks) =>
  concat(number(VERSION, 1), cardDigest, number(marks.length, 8), ...marks.slice().sort(compare));

/** {cardDigest, marks joined} of a marks file; throws unless it is one, its marks ascending. */
export function decodeMarks(bytes) {
  const reader = new Reader(bytes);
  if (reader.number(1) !== VERSION) throw new Error("another version");
  const cardDigest = reader.take(HASH_BYTES);
  const marks = reader.take(MARK_BYTES * reader.number(8));
  reader.end();
  for (let at = MARK_BYTES; at < marks.length; at += MARK_BYTES) {
    if (compare(markAt(marks, at - MARK_BYTES), markAt(marks, at)) > 0) throw new Error("not ascending");
  }
  return { cardDigest, marks };
}

const markAt = (marks, at) => marks.subarray(at, at + MARK_BYTES);

/** The length of a marks file. */
export const marksFileBytes = (slots) => 1 + HASH_BYTES + 8 + MARK_BYTES * slots;

export function holds(marks, mark) {
  let [low, high] = [0, marks.length / MARK_BYTES];
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    if (compare(markAt(marks, MARK_BYTES * middle), mark) < 0) low = middle + 1;
    else high = middle;
  }
  return same(markAt(marks, MARK_BYTES * low), mark);
}

/** What a client needs of the batch header that the shuffler signed; throws unless it signed it. */
export async function readHeader(bytes, shufflerKey) {
  const reader = new Reader(bytes);
  if (reader.number(1) !== VERSION || reader.number(1) > 1) throw new Error("another version");
  const cardDigest = reader.take(HASH_BYTES);
  reader.take(BATCH_ID_BYTES + 4);
  const slots = reader.number(8);
  const parts = reader.number(4);
  if (parts !== Math.ceil(slots / PART_RECORDS)) throw new Error("another number of parts");
  reader.take(HASH_BYTES * parts);
  const marksHash = reader.take(HASH_BYTES);
  const body = bytes.slice(0, reader.at);
  const signature = reader.take(SIGNATURE_BYTES);
  reader.end();
  if (!(await isSigned(shufflerKey, "batch", body, signature))) throw new Error("not signed");
  return { cardDigest, marksHash, slots };
}

export const joinedMarks = async (slots) => concat(...(await Promise.all(slots.map(markOf))));
export const splitMarks = (joined) => split(joined, MARK_BYTES);
