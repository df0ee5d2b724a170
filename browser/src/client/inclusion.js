/**
 * Whether a report is in the batch: looked up in the marks of its window, without asking anybody.
 *
 * The marks file is static and the same for all, so fetching it names nobody's slots. The
 * shuffler signed its hash with the batch, the analyser with the result.
 */

import { fromHex, same, text } from "../base/bytes.js";
import { sha256 } from "../base/hashes.js";
import { decodeMarks, holds, marksFileBytes, readHeader, splitMarks } from "../formats/marks.js";
import { isSigned } from "../formats/signing.js";
import { isSignedTask } from "../formats/task.js";
import { ownMarks } from "./client.js";
import { ANSWERED, DESTROYED, SENT } from "./outcomes.js";

/** What the marks say, in the words of the command-line client. */
export const STANDING = {
  INCLUDED:
    "Your report is in the batch of this window: the shuffler handed it over, and the " +
    "analyser signed that it got it. The marks do not show that it was counted.",
  LEFT_OUT:
    "Your report is not in the batch of this window: the shuffler did not hand it over, " +
    "although it had said that it has it, or somebody had a copy and sent that too. Tell who " +
    "runs the shuffler, and the others.",
  NOT_THERE:
    "Your report is not in the batch of this window; this machine never got the shuffler's " +
    "word that it had come.",
  IN_PART:
    "A part of your report is in the batch of this window: the shuffler, or somebody on the " +
    "way to it, took it apart. Tell who runs the shuffler, and the others.",
  DENIED:
    "The shuffler and the analyser signed different lists of what the batch holds. Publish " +
    "both, with their signatures: one of the two is not telling the truth.",
  OTHER_CARD:
    "The result was made with another card than yours: two cards were signed for this " +
    "window, or the analyser shows the batch of another one. Publish both.",
  DESTROYED:
    "The shuffler had said that it destroyed the reports of this window, and there is a batch " +
    "all the same. Tell who runs the shuffler, and the others.",
  NOT_SENT: "Nothing of yours was sent in this window.",
};

const NOT_GOOD =
  "What is published is not what both services signed. Load the page again; if that does not " +
  "help, ask who runs the services.";

export const NO_MARKS =
  "The first service does not show the marks of this time now, in which this page looks for your report. " +
  "It asks again; if that does not help, ask who runs that service.";

/** The document of a result, if the task's analyser signed it and it is of this task. */
export async function readResult({ task, taskId }, { result, signature }) {
  const hash = await sha256(text(result));
  if (!(await isSigned(task.analyzer_sign_key, "result", hash, fromHex(signature)))) {
    throw new Error(NOT_GOOD);
  }
  const document = JSON.parse(result);
  if (document.task_id !== taskId) throw new Error(NOT_GOOD);
  return document;
}

/** What both services signed about a batch; throws where it is not there, or not good. */
async function evidenceOf(task, document) {
  try {
    const cardDigest = fromHex(document.card_digest);
    const marksHash = fromHex(document.marks_sha256);
    const header = await readHeader(fromHex(document.batch_header), task.shuffler_sign_key);
    if (header.slots <= task.slots * task.max_batch) return { cardDigest, marksHash, header };
  } catch {
    // Said below.
  }
  throw new Error(NOT_GOOD);
}

/** How long the marks file is whose hash the shuffler signed. */
export const marksSize = async ({ task }, document) =>
  marksFileBytes((await evidenceOf(task, document)).header.slots);

/**
 * What the marks of a window say of a row; throws where one of the signatures or hashes is not good.
 *
 * Without the file, which the shuffler may not show, what the signatures alone say; else NO_MARKS is
 * thrown, or why there is none.
 */
export async function lookUp({ task }, row, document, marksFile, why) {
  const { cardDigest, marksHash, header } = await evidenceOf(task, document);
  const own = splitMarks(await ownMarks(row, isSignedTask(task)));
  if (!own.length) return STANDING.NOT_SENT;
  const kept = row.cardDigest;
  if (!same(cardDigest, kept) || !same(header.cardDigest, kept)) return STANDING.OTHER_CARD;
  if (!same(marksHash, header.marksHash)) return STANDING.DENIED;
  if (row.state === DESTROYED) return STANDING.DESTROYED;
  if (!marksFile) throw why ?? new Error(NO_MARKS);
  let file;
  try {
    file = decodeMarks(marksFile);
  } catch {
    throw new Error(NOT_GOOD);
  }
  if (!same(await sha256(marksFile), header.marksHash) || !same(file.cardDigest, kept)) {
    throw new Error(NOT_GOOD);
  }
  const found = own.filter((mark) => holds(file.marks, mark)).length;
  if (found === own.length) return STANDING.INCLUDED;
  if (found) return STANDING.IN_PART;
  return [SENT, ANSWERED].includes(row.state) ? STANDING.LEFT_OUT : STANDING.NOT_THERE;
}
