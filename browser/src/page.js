/** The poll page: question, what is known about you, answer, result. */

import { chart } from "./chart.js";
import { obstacle, readTask, submit, windowAt } from "./client.js";
import { find } from "./outcomes.js";
import { captionOf, guaranteeOf, rounded, rowsOf } from "./results.js";
import { privacyWords } from "./words.js";

const SECONDS_BETWEEN_LOOKS = 3;
const $ = (id) => document.getElementById(id);

function tell(words, kind = "note") {
  $("status").textContent = words;
  $("status").className = kind;
}

export async function start() {
  const problem = obstacle();
  if (problem) return tell(problem, "problem");
  try {
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
  $("form").addEventListener("submit", (event) => {
    event.preventDefault();
    send(poll);
  });
  $("poll").hidden = false;
  tell("Nothing has been sent yet.");
  if (await find(taskId, windowAt(task, Date.now() / 1000))) {
    tell("You have answered already; sending again sends the same report.");
  }
  look(poll);
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
  const token = $("token").value.trim();
  $("send").disabled = true;
  tell("Randomising and locking your answer, then sending it …");
  try {
    const window = windowAt(poll.task, Date.now() / 1000);
    await submit({ ...poll, token, datum: datumOf(poll.task), window });
    tell("Your randomised answer has arrived. The result appears here when the poll is closed.", "done");
    $("form").hidden = true;
  } catch (error) {
    tell(error.message, "problem");
    $("send").disabled = false;
  }
}

async function look(poll) {
  try {
    const answer = await fetch(`/poll/${poll.taskId}/results`, { cache: "no-store" });
    const results = answer.ok ? await answer.json() : [];
    if (results.length) show(poll, results.at(-1));
  } catch {
    // The service is away for a moment: look again later.
  }
  setTimeout(look, 1000 * SECONDS_BETWEEN_LOOKS, poll);
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
  $("guarantee").textContent = guaranteeOf(result);
  $("warning").textContent = result.warning ?? "";
  $("result").hidden = false;
  $("when").textContent = dayOf(task, result.window);
  if (result.window < windowAt(task, Date.now() / 1000)) return;
  $("form").hidden = true;
  tell("The poll is closed; this is its result.", "done");
}

const dayOf = (task, window) =>
  new Date(1000 * window * task.window_seconds).toISOString().slice(0, 16).replace("T", " ") + " UTC";
