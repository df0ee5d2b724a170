/**
 * What a browser keeps: one row per person and window, which decides all that is ever sent.
 *
 * The row is on disk before the first byte leaves, and no retry draws again. It never holds the
 * datum, what it was randomised to, or an ephemeral key. A person is the hash of the invitation;
 * without an issuer, of the pass: several may share a browser. With an issuer the hash of the pass
 * is kept too: a new invitation in each window, which one side makes alone, is no new budget. A row
 * that was sent with several passes, as where the first one was mistyped, is of all of them.
 */

import { same, text, toHex } from "../base/bytes.js";
import { sha256 } from "../base/hashes.js";

export const NO_STORAGE =
  "This browser does not let the page keep anything, so an answer could be randomised twice. " +
  "Allow storage for this page, or use another browser.";

export const OTHER_CARD =
  "Another card was seen here for this time before. Nothing of this time was sent. Two cards for one time " +
  "tell people apart: tell others of them.";

export const SPENT =
  "The budget of this poll pays for no more answers of one person than were given here. Another one " +
  "would tell the analyser more than was agreed on: nothing of this time was sent. Ask who runs it for a new poll.";

const OTHER_PASS =
  "The budget of this poll pays for no more answers with this link. What was randomised here before was " +
  "sent, or is to be sent, with another link: open the page with that one.";

const OTHER_INVITATION =
  "An answer of this time was made with this link and another invitation, and was sent, or may have been. " +
  "There is one answer with a link: use that invitation, or wait for the next time. Nothing was sent now.";

/** Slots and seed are kept; nothing that was sent names a slot. */
export const DRAWN = "drawn";
/** The report is kept and the seed erased; it may have left. */
export const FINAL = "final";
/** The shuffler has it. */
export const SENT = "sent";
/** A token was refused: nothing of this time was sent, and nothing will be. */
export const ENDED = "ended";
/** The time is over, the shuffler has said that it has the report; its marks are left. */
export const ANSWERED = "marks";
/** The time is over; the report may have reached the shuffler. */
export const UNSURE = "marks of a report without an answer";
/** The time is over; nothing of this time was sent. */
export const MISSED = "missed";
/** The time is over, and the shuffler has said that it had too few people: nobody saw a report. */
export const DESTROYED = "marks of a report that the shuffler destroyed";

/** States of a report that may have left. */
const LEFT = [FINAL, SENT, ANSWERED, UNSURE];
/** States of a report that the analyser has seen, or may see: the budget pays for them. */
const COUNTED = [DRAWN, ...LEFT];
const WINDOWS = 2 ** 32;

const [CARDS, ROWS] = ["cards", "rows"];
const VERSION = 2;

/** An error whose words are for the participant, raised while the store was open. */
class Refused extends Error {}

function request(made) {
  return new Promise((resolve, reject) => {
    made.onsuccess = () => resolve(made.result);
    made.onerror = () => reject(made.error);
  });
}

async function database() {
  const opening = indexedDB.open("smoothdp", VERSION);
  opening.onupgradeneeded = () => {
    const made = opening.result;
    // What the first protocol kept is of no use to the second.
    for (const name of [...made.objectStoreNames]) made.deleteObjectStore(name);
    for (const name of [CARDS, ROWS]) made.createObjectStore(name);
  };
  return request(opening);
}

/** One transaction over all that is kept; what it returns is on disk when this returns. */
async function inStore(work) {
  let opened;
  try {
    opened = await database();
    const change = opened.transaction([CARDS, ROWS], "readwrite", { durability: "strict" });
    const done = new Promise((resolve, reject) => {
      change.oncomplete = resolve;
      change.onabort = () => reject(change.error);
    });
    const [result] = await Promise.all([
      work(change.objectStore(ROWS), change.objectStore(CARDS)), done,
    ]);
    return result;
  } catch (error) {
    if (error instanceof Refused) throw error;
    throw new Error(NO_STORAGE, { cause: error });
  } finally {
    opened?.close();
  }
}

/** A secret however it was typed: services read it in one way alone. */
export const plain = (secret) => secret.replace(/\s/g, "").toLowerCase();

/** What a person is known by here. */
export const nameOf = async (secret) => toHex(await sha256(text(plain(secret))));

/** By window first, so that those which are over lie together. */
const keyOf = ({ taskId, window, who }) => [taskId, window, who];
const allBefore = (taskId, window) => IDBKeyRange.bound([taskId, 0], [taskId, window], false, true);

async function entries(store, range) {
  const found = [];
  for (const key of await request(store.getAllKeys(range))) {
    found.push([key, await request(store.get(key))]);
  }
  return found;
}

const ofWindow = (rows, { taskId, window }) =>
  entries(rows, IDBKeyRange.bound([taskId, window], [taskId, window + 1], false, true));

const isUnanswered = ({ state }) => state === FINAL || state === UNSURE;

async function anothers(rows, place) {
  const found = await ofWindow(rows, place);
  return found.find(([key, row]) => key[2] !== place.who && isUnanswered(row))?.[1];
}

export const find = (place) => inStore((rows) => request(rows.get(keyOf(place))));

/** All rows of a window, of whomever. */
export const inWindow = (place) =>
  inStore(async (rows) => (await ofWindow(rows, place)).map(([, row]) => row));

/** The passes that a row was made or sent with: none, one, or a list. Older pages read the one. */
const passesOf = ({ pass }) => (pass ? [pass].flat() : []);

/** Whether a row is of the person of a place: by name or pass; one without a pass may be anybody's. */
function isOf({ who, pass }, [key, row]) {
  const passes = passesOf(row);
  return key[2] === who || Boolean(pass && (!passes.length || passes.includes(pass)));
}

async function counted(rows, place) {
  const found = await entries(rows, allBefore(place.taskId, WINDOWS));
  const own = found.filter((one) => isOf(place, one) && COUNTED.includes(one[1].state));
  const windows = new Set(own.map(([key]) => key[1]));
  windows.delete(place.window);
  return [...windows];
}

/**
 * Refuse a second report behind the pass of a place, whatever invitation it is made with. One that
 * an older page kept without a pass may be behind any, and one that was said to be destroyed left.
 */
async function requireOnlyReport(rows, place, report) {
  const found = await ofWindow(rows, place);
  const another = found.some(([key, row]) =>
    key[2] !== place.who && place.pass && isOf(place, [key, row]) &&
    [...LEFT, DESTROYED].includes(row.state) && !(report && row.report && same(report, row.report)));
  if (another) throw new Refused(OTHER_INVITATION);
}

/** The other windows in which an answer of a person is, or may be, with the services. */
export const answeredIn = (place) => inStore((rows) => counted(rows, place));

/** Whether this person has no row, and the report of another one has no answer. */
export const isWaiting = (place) =>
  inStore(async (rows) =>
    !(await request(rows.get(keyOf(place)))) && Boolean(await anothers(rows, place)));

export const cardOf = async ({ taskId, window }) =>
  inStore(async (_, cards) => (await request(cards.get([taskId, window])))?.signed);

/**
 * Keep a draw and its card unless there is a row; return the row that counts, on disk by then.
 *
 * There is one card for a window for ever. With adopt, the report of another name that has no
 * answer counts too: it may have left. Without a fresh draw the row there is, or nothing. In
 * no more than `most` windows is there a draw that counts.
 */
export const keep = (place, fresh, { adopt = false, most = 0 } = {}) =>
  inStore(async (rows, cards) => {
    const key = keyOf(place);
    const earlier = await request(rows.get(key));
    if (earlier) return earlier;
    const isFull = (await counted(rows, place)).length >= most;
    const counts = adopt && !isFull && (await anothers(rows, place));
    if (counts) {
      // Of another name: the page says so.
      await request(rows.put({ ...counts, adopted: true }, key));
      return counts;
    }
    if (!fresh) return undefined;
    if (isFull) throw new Refused(SPENT);
    await requireOnlyReport(rows, place);
    const at = key.slice(0, 2);
    const seen = await request(cards.get(at));
    if (seen && !same(seen.digest, fresh.row.cardDigest)) throw new Refused(OTHER_CARD);
    // A clock that was ahead for a while had it forgotten: then it is the same one again.
    if (!seen?.signed) await request(cards.put({ digest: fresh.row.cardDigest, signed: fresh.signed }, at));
    const row = place.pass ? { ...fresh.row, pass: place.pass } : fresh.row;
    await request(rows.put(row, key));
    return row;
  });

/** Change a row that is in a state; in another state it stays. All that is not named is erased. */
async function changed(rows, key, before, made) {
  const row = await request(rows.get(key));
  if (row?.state !== before) return;
  const { cardDigest, pass, ends, isSigned } = row;
  // An older page kept less; what is not there stays away.
  const kept = Object.entries({ cardDigest, pass, ends, isSigned }).filter(([, one]) => one !== undefined);
  await request(rows.put({ ...Object.fromEntries(kept), ...made(row) }, key));
}

const change = (place, before, made) =>
  inStore((rows) => changed(rows, keyOf(place), before, () => made));

/**
 * Keep with which pass a report is about to be sent, if it is another than before.
 *
 * It counts for that pass too from then on, which must have room for it, and no other report of
 * the window.
 */
export const keepPass = (place, most) =>
  inStore(async (rows) => {
    const row = await request(rows.get(keyOf(place)));
    const passes = row && passesOf(row);
    if (!place.pass || !passes) return;
    await requireOnlyReport(rows, place, row.report);
    if (passes.includes(place.pass)) return;
    if ((await counted(rows, place)).length >= most) throw new Refused(OTHER_PASS);
    // One without a pass was made with nobody knows which: it stays everybody's.
    if (!passes.length) return;
    await request(rows.put({ ...row, pass: [...passes, place.pass] }, keyOf(place)));
  });

/**
 * Keep the report and erase slots and seed, in one transaction.
 *
 * Of two draws with one pass, one becomes final: the other would stand in its way, and never leave.
 */
export const keepReport = (place, report) =>
  inStore(async (rows) => {
    await requireOnlyReport(rows, place, report);
    await changed(rows, keyOf(place), DRAWN, () => ({ state: FINAL, report }));
  });

/** Keep that the window is over for this person before anything was sent; destroy the draw. */
export const keepEnd = (place) => change(place, DRAWN, { state: ENDED });

/**
 * Keep that the shuffler has the report, under whatever names it is here.
 *
 * The time may have passed on the way: then marks are in its place, and get the shuffler's word.
 */
export const keepSent = (place) =>
  inStore(async (rows) => {
    const own = (await request(rows.get(keyOf(place)))) ?? {};
    const [what, state] = own.report ? ["report", SENT] : ["marks", ANSWERED];
    for (const [key, row] of await ofWindow(rows, place)) {
      if (isUnanswered(row) && own[what] && row[what] && same(row[what], own[what])) {
        await request(rows.put({ ...row, state }, key));
      }
    }
  });

/**
 * [key, row] of reports that are not destroyed yet, and whose time is over: of the windows of a task
 * before one, which is another one where there is a draw alone, and of all other tasks of this
 * browser, whose pages may never be loaded again.
 */
export const liveBefore = (taskId, { window, begun }, seconds) =>
  inStore(async (rows) =>
    (await entries(rows, IDBKeyRange.bound([""], ["\uffff"], false, true))).filter(
      ([[task, at], { state, ends, drawnEnds = ends }]) =>
        [DRAWN, FINAL, SENT].includes(state) &&
        (task === taskId
          ? at < (state === DRAWN ? begun : window)
          : (state === DRAWN ? drawnEnds : ends) <= seconds)));

/**
 * Put marks in the place of a report whose window is over.
 *
 * That there was one stays: a clock that was wrong for a while makes no second draw.
 */
export async function keepMarks([taskId, window, who], marks) {
  const place = { taskId, window, who };
  if (marks.length === 0) {
    // Of a draw. If another page has made it final since, that waits for its marks.
    await change(place, DRAWN, { state: MISSED });
    return;
  }
  // In this order: another tab that keeps a late 202 in between leaves no report behind.
  for (const [before, state] of [[FINAL, UNSURE], [SENT, ANSWERED]]) {
    await change(place, before, { state, marks });
  }
}

/** Keep that the shuffler destroyed the reports of a window that is over, also of this pass. */
export const keepDestroyed = (place) =>
  inStore(async (rows) => {
    const own = (await ofWindow(rows, place)).filter((one) => isOf(place, one));
    for (const [key, { state }] of own) {
      if (![ANSWERED, UNSURE].includes(state)) continue;
      await changed(rows, key, state, ({ marks }) => ({ state: DESTROYED, marks }));
    }
  });

/** Delete the cards of windows before one; their digests stay: no window has a second card here. */
export const forgetCards = (taskId, window) =>
  inStore(async (_, cards) => {
    for (const [key, { digest }] of await entries(cards, allBefore(taskId, window))) {
      await request(cards.put({ digest }, key));
    }
  });
