/** The poll page: question, what is known about you, answer, result. */

import { chart } from "./chart.js";
import { isClosed, obstacle, OVER, readTask, submit, WAITING, windowAt } from "./client.js";
import { find, isWaiting } from "./outcomes.js";
import { captionOf, guaranteeOf, rounded, rowsOf, termsOf } from "./results.js";
import { privacyWords } from "./words.js";

const SECONDS_BETWEEN_LOOKS = 3;
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
    const problem = obstacle();
    if (problem) return tell(problem, "problem");
    await prepare();
  } catch (error) {
    tell(error.message, "problem");
  }
}

async function prepare() {
  const taskId = location.pathname.split("/")[2] ?? "";
  const answer = await fetch(`/v1/tasks/${taskId}`, { credentials: "omit" });
  if (!answer.ok) throw new Error("There is no poll at this address.");
  const task = await readTask(await answer.arrayBuffer(), taskId);
  const about = await (await fetch(`/poll/${taskId}/about`)).json();
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
  $("token").value = location.hash.slice(1);
  $("token-row").hidden = Boolean($("token").value);
  const poll = { task, taskId };
  $("token").addEventListener("change", () => offerAnother(poll).catch(() => {}));
  $("form").addEventListener("submit", (event) => {
    event.preventDefault();
    send(poll);
  });
  const earlier = await find({ taskId, window: windowNow(task), token: $("token").value });
  const same =
    "An answer was randomised here for this link already; sending again sends the same report.";
  const waiting = await offerAnother(poll);
  const fresh = waiting ? WAITING : "Nothing has been sent yet.";
  tell(!earlier ? fresh : earlier.slots ? same : OVER);
  await update(poll);
  $("poll").hidden = false;
  setTimeout(look, 1000 * SECONDS_BETWEEN_LOOKS, poll);
}

/** Show whether a report of another link is sent again, and ask whether another person answers. */
async function offerAnother({ task, taskId }) {
  const token = $("token").value.trim();
  const waiting = await isWaiting({ taskId, window: windowNow(task), token });
  $("another-row").hidden = !waiting;
  if (!waiting) $("another").checked = false;
  return waiting;
}

function showChoices(task) {
  const choices = $("choices");
  if (task.protocol === "real_sum") {
    const [low, high] = task.bounds;
    choices.innerHTML = '<label for="number"></label><input id="number" inputmode="decimal" required autocomplete="off">';
    choices.firstChild.textContent = `A number from ${low} to ${high}; one outside counts as the nearest end. `;
    return;
  }
  const names =
    task.protocol === "boolean_sum"
      ? [["1", "Yes"], ["0", "No"]]
      : (task.domain.length ? task.domain : [...Array(task.size).keys()]).map((n, i) => [i, n]);
  for (const [value, name] of names) {
    const label = document.createElement("label");
    const input = document.createElement("input");
    Object.assign(input, { type: "radio", name: "choice", value, required: true });
    label.className = "choice";
    label.append(input, ` ${name}`);
    choices.append(label);
  }
}

function datumOf(task) {
  if (task.protocol === "real_sum") {
    return $("number").value.replace(",", ".");
  }
  const place = Number(document.querySelector("input[name=choice]:checked").value);
  return task.protocol === "histogram" && task.domain.length ? task.domain[place] : place;
}

async function send(poll) {
  $("send").disabled = true;
  await update(poll);
  if ($("form").hidden) return;
  const token = $("token").value.trim();
  tell("Randomising and locking your answer, then sending it …");
  try {
    const window = windowNow(poll.task);
    const anotherPerson = $("another").checked;
    const again = !anotherPerson && (await isWaiting({ ...poll, window, token }));
    await submit({ ...poll, token, datum: datumOf(poll.task), window, anotherPerson });
    const whose = again ? "The answer that was randomised here before, with another link," :
      "Your randomised answer";
    tell(`${whose} has arrived. The result appears here when it is published.`, "done");
    $("form").hidden = true;
  } catch (error) {
    tell(error.message, "problem");
    $("send").disabled = false;
  }
}

async function look(poll) {
  await update(poll);
  setTimeout(look, 1000 * SECONDS_BETWEEN_LOOKS, poll);
}

/** Show what is published, and take no answer that no result can hold. */
async function update(poll) {
  try {
    const answer = await fetch(`/poll/${poll.taskId}/results`, { cache: "no-store" });
    const results = answer.ok ? await answer.json() : [];
    if (!results.length) return;
    const result = results.at(-1);
    if (isClosed(poll.task, results)) {
      close("This poll is closed; this is its result.");
    } else if (result.window >= windowNow(poll.task)) {
      const next = dayOf(poll.task, result.window + 1);
      close(`This is the result so far. The poll goes on at ${next}: load this page again then.`);
    }
    show(poll, result);
  } catch {
    // The service is away for a moment: look again later.
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
      number.textContent = `${rounded(row.value, row.error)} ± ${rounded(row.error, row.error)}`;
      line.append(head, number);
      return line;
    }),
  );
  $("caption").textContent = captionOf(result);
  $("chart").replaceChildren(chart(rows));
  $("terms").textContent = termsOf(task);
  $("guarantee").textContent = guaranteeOf(result);
  $("warning").textContent = result.warning ?? "";
  $("result").hidden = false;
  $("when").textContent = dayOf(task, result.window);
}

const windowNow = (task) => windowAt(task, Date.now() / 1000);

const dayOf = (task, window) =>
  new Date(1000 * window * task.window_seconds).toISOString().slice(0, 16).replace("T", " ") + " UTC";
