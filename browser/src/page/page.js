/** The poll page: question, what is known about you, answer, result, whether yours is in it. */

import { ask, documentOf, Lost, MOST_ANSWER, MOST_RESULTS, NO_DOCUMENT } from "../base/answers.js";
import { settle } from "../client/client.js";
import { lookUp, marksSize, NO_MARKS, readResult } from "../client/inclusion.js";
import { DRAWN, find, FINAL, inWindow, isWaiting, NO_STORAGE, SENT } from "../client/outcomes.js";
import { isBinned, isNumber } from "../client/randomize.js";
import { isSecret, problemOf } from "../client/secrets.js";
import { OVER, placeOf, REFUSED, submit, WAITING } from "../client/submit.js";
import { canCheck } from "../formats/signing.js";
import { firstLive, isClosed, isSignedTask, readTask, windowAt } from "../formats/task.js";
import { chart } from "./chart.js";
import { captionOf, guaranteeOf, rowsOf, termsOf, withError } from "./results.js";
import { privacyWords } from "./words.js";

const SECONDS_BETWEEN_LOOKS = 3;
const SECONDS_BETWEEN_TIDYINGS = 60;
const $ = (id) => document.getElementById(id);

function tell(words, kind = "note") {
  $("status").textContent = words;
  $("status").className = kind;
}

export async function start() {
  // Another link in the same tab changes nothing but what follows #: no load without this.
  addEventListener("hashchange", () => location.reload());
  tell("Loading …");
  try {
    const problem = await obstacle();
    if (problem) return tell(problem, "problem");
    await prepare();
  } catch (error) {
    tell(error.message, "problem");
  }
}

/** Why this browser cannot take part, or an empty string. */
export async function obstacle(scope = globalThis) {
  if (!scope.crypto?.subtle || !scope.crypto.getRandomValues) {
    return (
      "This browser cannot encrypt here: it has no WebCrypto, or the page did not come over " +
      "https. Nothing was sent. Use an up-to-date browser and an https address."
    );
  }
  if (!(await canCheck())) {
    return (
      "This browser cannot check who made the keys of this poll: it has no Ed25519 signatures. " +
      "Nothing was sent. Use a newer browser."
    );
  }
  return storage(scope) ? "" : `Nothing was sent. ${NO_STORAGE}`;
}

/** Reading the name alone throws where storage is forbidden. */
function storage(scope) {
  try {
    return scope.indexedDB;
  } catch {
    return null;
  }
}

async function prepare() {
  const taskId = location.pathname.split("/")[2] ?? "";
  const answer = await ask(`/v2/tasks/${taskId}`, {}, { most: MOST_ANSWER });
  if (answer.status >= 500) throw new Lost();
  if (!answer.ok) throw new Error("There is no poll at this address.");
  const task = await readTask(answer.body, taskId);
  const about = documentOf(await ask(`/poll/${taskId}/about`));
  if (typeof about?.question !== "string") throw new Error(NO_DOCUMENT);
  $("question").textContent = about.question;
  document.title = about.question;
  $("one-host").hidden = !about.one_host;
  $("legend").textContent = "Your answer";
  for (const [title, words] of privacyWords(task)) {
    const dt = document.createElement("dt");
    const dd = document.createElement("dd");
    dt.textContent = title;
    dd.textContent = words;
    $("known").append(dt, dd);
  }
  showChoices(task);
  $("pass").value = location.hash.slice(1);
  // A link that lost its end on the way can be mended by hand.
  $("pass-row").hidden = isSecret($("pass").value);
  $("invitation-row").hidden = !isSignedTask(task);
  $("invitation").required = isSignedTask(task);
  const poll = { task, taskId, said: new Map(), window: windowNow(task) };
  const own = isSignedTask(task) ? $("invitation") : $("pass");
  own.addEventListener("change", () => sayWhatIsKept(poll).catch(() => {}));
  $("form").addEventListener("submit", (event) => {
    event.preventDefault();
    send(poll);
  });
  await tidy(poll);
  await sayWhatIsKept(poll);
  await update(poll);
  $("poll").hidden = false;
  setTimeout(look, 1000 * SECONDS_BETWEEN_LOOKS, poll);
}

/** Put marks in the place of reports whose time is over, also while the page stays open. */
async function tidy(poll) {
  const seconds = Date.now() / 1000;
  const live = firstLive(poll.task, seconds);
  // Draws without tokens, and other polls, have ends of their own.
  if (poll.live === live && Math.abs(seconds - poll.tidied) < SECONDS_BETWEEN_TIDYINGS) return;
  await settle({ ...poll, seconds });
  Object.assign(poll, { live, tidied: seconds });
}

const secrets = () => ({ pass: $("pass").value.trim(), invitation: $("invitation").value.trim() });

/** Ask whether another person answers, until that is settled; whether it is asked. */
async function askWhoAnswers(task, place) {
  const waiting = !isSignedTask(task) && (await isWaiting(place));
  $("another-row").hidden = !waiting;
  if (!waiting) $("another").checked = false;
  return waiting;
}

/** Say what is kept for this person, and ask whether another one answers where that matters; the row. */
async function sayWhatIsKept({ task, taskId }) {
  const place = await placeOf({ task, taskId, window: windowNow(task), ...secrets() });
  const kept = await find(place);
  const waiting = await askWhoAnswers(task, place);
  const same =
    "An answer was randomised here for this link already; sending again sends the same report.";
  const sent = "An answer was randomised here for this link already, and has arrived.";
  const said = { ...OVER, [DRAWN]: same, [FINAL]: same, [SENT]: sent, ended: REFUSED };
  const nothing = isSignedTask(task) && !secrets().invitation
    ? "Nothing is sent before you press the button."
    : "Nothing has been sent yet.";
  const borrowed = kept?.adopted && kept.state === FINAL;
  tell(waiting || borrowed ? WAITING : kept ? said[kept.state] : nothing);
  return kept;
}

function showChoices(task) {
  const choices = $("choices");
  if (isNumber(task)) {
    const [low, high] = task.bounds;
    const [label, input] = ["label", "input"].map((name) => document.createElement(name));
    Object.assign(input, { id: "number", inputMode: "decimal", required: true, autocomplete: "off" });
    // Some browsers send what they check to their maker.
    input.spellcheck = false;
    label.htmlFor = input.id;
    label.textContent = `A number from ${low} to ${high}; one outside counts as the nearest end. `;
    choices.append(label, input);
    return;
  }
  const names = isBinned(task)
    ? (task.domain.length ? task.domain : [...Array(task.size).keys()]).map((n, i) => [i, n])
    : [["1", "Yes"], ["0", "No"]];
  for (const [value, name] of names) {
    const label = document.createElement("label");
    const input = document.createElement("input");
    // Else browsers keep on the disk what was chosen, for the day when they start again.
    Object.assign(input, { type: "radio", name: "choice", value, required: true, autocomplete: "off" });
    label.className = "choice";
    label.append(input, ` ${name}`);
    choices.append(label);
  }
}

function datumOf(task) {
  if (isNumber(task)) return pointed($("number").value);
  const place = Number(document.querySelector("input[name=choice]:checked").value);
  return isBinned(task) && task.domain.length ? task.domain[place] : place;
}

/** A number with a comma for its point; one that may part thousands is left, to be refused. */
const pointed = (typed) => (/^[^,]*[1-9][^,.]*,[0-9]{3}$/.test(typed.trim()) ? typed : typed.replace(",", "."));

async function send(poll) {
  const problem = problemOf(poll.task, secrets());
  if (problem) return tell(problem, "problem");
  $("send").disabled = true;
  await update(poll);
  if ($("form").hidden) return;
  tell("Randomising and locking your answer, then sending it …");
  // A browser that is short of room deletes what it may; it need not say yes to this.
  navigator.storage?.persist?.().catch(() => {});
  try {
    const window = windowNow(poll.task);
    const who = { ...poll, ...secrets(), window };
    const anotherPerson = $("another").checked;
    const place = await placeOf(who);
    const kept = await find(place);
    const again = kept
      ? kept.adopted
      : !isSignedTask(poll.task) && !anotherPerson && (await isWaiting(place));
    const before = await submit({ ...who, datum: datumOf(poll.task), anotherPerson });
    const whose = again ? "The answer that was randomised here before, with another link," :
      "Your randomised answer";
    const arrived = before
      ? "The answer that was randomised here before has arrived already: no other is sent."
      : `${whose} has arrived.`;
    tell(`${arrived} The result appears here when it is published.`, "done");
    $("form").hidden = true;
    // What was chosen and typed stays in no field.
    $("form").reset();
  } catch (error) {
    tell(error.message, "problem");
    $("send").disabled = false;
    // Who has pressed once has said who answers.
    const place = await placeOf({ ...poll, ...secrets(), window: windowNow(poll.task) });
    await askWhoAnswers(poll.task, place).catch(() => {});
  }
}

async function look(poll) {
  await tidy(poll).catch(() => {});
  await update(poll);
  await renew(poll).catch(() => {});
  setTimeout(look, 1000 * SECONDS_BETWEEN_LOOKS, poll);
}

/** Say anew what is kept when another window begins: what was said is of the one before. */
async function renew(poll) {
  const window = windowNow(poll.task);
  if (poll.window === window || $("form").hidden || $("send").disabled) return;
  poll.window = window;
  if (!(await sayWhatIsKept(poll))) {
    tell("Another time of this poll has begun: what you send now is a new answer, for that time.");
  }
}

/** Show what is published, and take no answer that no result can hold. */
async function update(poll) {
  try {
    const answer = await ask(`/poll/${poll.taskId}/results`, {}, { most: MOST_RESULTS });
    const published = answer.ok ? documentOf(answer) : [];
    if (!published.length) return;
    const signed = await Promise.all(published.map((one) => readResult(poll, one)));
    // A window that was refused for good has a state in the place of a result.
    const results = signed.filter(({ state }) => state === undefined);
    if (!results.length) return;
    const result = results.at(-1);
    if (isClosed(poll.task, results)) {
      close("This poll is closed; this is its result.");
    } else if (result.window >= windowNow(poll.task)) {
      const next = dayOf(poll.task, result.window + 1);
      close(`This is the result so far. The poll goes on at ${next}: load this page again then.`);
    }
    show(poll, result);
    await sayStandings(poll, results);
  } catch {
    // The service is away for a moment, or what it shows is not signed: look again later.
  }
}

function close(words) {
  $("form").hidden = true;
  if ($("status").textContent !== words) tell(words, "done");
}

function show(poll, result) {
  if (poll.shown === result.window) return;
  poll.shown = result.window;
  const { task } = poll;
  const rows = rowsOf(task, result);
  const body = $("table").tBodies[0];
  body.replaceChildren(
    ...rows.map((row) => {
      const line = document.createElement("tr");
      const head = document.createElement("th");
      head.scope = "row";
      head.textContent = row.label;
      const number = document.createElement("td");
      number.textContent = withError(row.value, row.error).join(" ± ");
      line.append(head, number);
      return line;
    }),
  );
  $("caption").textContent = captionOf(task, result);
  $("chart").replaceChildren(chart(rows));
  $("terms").textContent = termsOf(task);
  $("guarantee").textContent = guaranteeOf(result);
  $("warning").textContent = result.warning ?? "";
  $("result").hidden = false;
  $("when").textContent = dayOf(task, result.window);
}

/** Of the result that is shown, and before it of earlier ones in which somebody here took part. */
async function sayStandings(poll, results) {
  const last = results.at(-1).window;
  const sentences = [];
  for (const result of results) {
    if (!poll.said.has(result.window)) {
      const words = await standingOf(poll, result);
      // What is not there now may be there at the next look.
      if (words !== NO_MARKS) poll.said.set(result.window, words);
      else if (result.window === last) sentences.push(words);
    }
    const words = poll.said.get(result.window);
    const time = result.window === last ? "" : `Of ${dayOf(poll.task, result.window)}: `;
    if (words) sentences.push(time + words);
  }
  $("standing").textContent = sentences.join(" ");
}

/** What the marks say of each report that was made in this browser; empty without one. */
async function standingOf(poll, result) {
  const { task, taskId } = poll;
  try {
    const kept = await inWindow({ taskId, window: result.window });
    const rows = kept.filter(({ report, marks }) => report || marks);
    if (!rows.length) return "";
    const most = await marksSize(poll, result);
    const path = `/v2/tasks/${taskId}/marks/${result.window}`;
    // Without the file, what the signatures alone say comes first: none that is given hides that.
    let why;
    const answer = await ask(path, {}, { most }).catch((error) => {
      if (!(error instanceof Lost)) why = error;
    });
    const file = answer?.ok ? answer.body : null;
    const said = [];
    for (const row of rows) said.push(await lookUp({ task }, row, result, file, why));
    return [...new Set(said)].join(" ");
  } catch (error) {
    return error.message;
  }
}

const windowNow = (task) => windowAt(task, Date.now() / 1000);

const dayOf = (task, window) =>
  new Date(1000 * window * task.window_seconds).toISOString().slice(0, 16).replace("T", " ") + " UTC";
