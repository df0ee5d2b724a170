/** Drives the poll page in a headless browser: a job as a line of JSON in, a line per step out. */

import { createInterface } from "node:readline";
import { chromium } from "playwright-core";

const input = createInterface({ input: process.stdin });
const lines = input[Symbol.asyncIterator]();
const job = JSON.parse((await lines.next()).value);
const browser = await chromium.launch({
  executablePath: job.browser,
  args: [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    ...(job.args ?? []),
  ],
});
const say = (step, fields = {}) => console.log(JSON.stringify({ step, ...fields }));

try {
  const context = await browser.newContext({
    viewport: { width: 760, height: 1100 }, javaScriptEnabled: !job.noScript,
  });
  const hosts = new Set();
  const sent = [];
  context.on("request", (request) => {
    hosts.add(new URL(request.url()).host);
    if (request.method() === "POST") {
      sent.push({ url: request.url(), hex: request.postDataBuffer().toString("hex") });
    }
  });
  const page = await context.newPage();
  const problems = [];
  page.on("pageerror", (error) => problems.push(error.message));
  page.on("console", (line) => line.type() === "error" && problems.push(line.text()));
  if (job.before) await page.addInitScript(job.before);
  await page.goto(job.link);
  if (job.noScript) {
    say("text", { text: await page.innerText("body") });
  } else if (job.evaluate) {
    say("evaluated", { value: await page.evaluate(`(async () => { ${job.evaluate} })()`) });
    for (const code of job.reloaded ?? []) {
      await page.reload();
      say("evaluated", { value: await page.evaluate(`(async () => { ${code} })()`) });
    }
    if (job.tabs) {
      const others = await Promise.all(job.tabs.map(() => context.newPage()));
      await Promise.all(others.map((other) => other.goto(job.link)));
      const said = others.map((other, at) => other.evaluate(`(async () => { ${job.tabs[at]} })()`));
      say("evaluated", { value: await Promise.all(said) });
    }
  } else if (job.expect) {
    // What it says of an answer it says before it shows the form.
    await page.waitForFunction((w) => {
      const status = document.getElementById("status");
      const isShown = status.className === "problem" || !document.getElementById("poll").hidden;
      return status.textContent.includes(w) && isShown;
    }, job.expect);
    say("status", { text: await page.textContent("#status"), form: await page.isVisible("#form"), result: await page.isVisible("#result") });
  } else {
    await page.waitForSelector("#form:visible");
    if (job.shots) await page.screenshot({ path: `${job.shots}/question.png`, fullPage: true });
    await answer(page, job, job.invitation);
    say("sent", { text: await page.textContent("#status"), sent });
    for (const [link, invitation] of job.links ?? []) {
      // In the same tab: nothing but what follows # is another.
      await page.goto(link);
      const code = new URL(link).hash.slice(1);
      await page.waitForSelector("#form:visible");
      await page.waitForFunction((c) => document.getElementById("pass").value === c, code);
      await invited(page, invitation);
      const before = await page.textContent("#status");
      await answer(page, job, invitation);
      say("sent", { before, text: await page.textContent("#status"), sent });
    }
    if (job.result) {
      await lines.next();
      await page.waitForSelector("#result:visible");
      if (job.shots) await page.screenshot({ path: `${job.shots}/result.png`, fullPage: true });
      const rows = await page.$$eval("#table tbody tr", (lines) =>
        lines.map((line) => [...line.children].map((cell) => cell.textContent)));
      say("result", {
        rows,
        caption: await page.textContent("#caption"),
        guarantee: await page.textContent("#guarantee"),
        standing: await page.textContent("#standing"),
        known: await page.textContent("#known"),
        terms: await page.textContent("#terms"),
        oneHost: await page.isVisible("#one-host"),
        whiskers: await page.locator("svg .whisker").count(),
      });
      await page.setViewportSize({ width: 320, height: 800 });
      if (job.shots) await page.screenshot({ path: `${job.shots}/narrow.png`, fullPage: true });
      say("narrow", await page.evaluate(() => {
        const texts = [...document.querySelectorAll("#chart .label, #chart text")];
        const boxes = texts.map((text) => text.getBoundingClientRect());
        return {
          page: document.documentElement.scrollWidth,
          left: Math.min(...boxes.map((box) => box.left)),
          right: Math.max(...boxes.map((box) => box.right)),
          // On screen: a picture that is scaled scales its letters.
          height: Math.min(...boxes.map((box) => box.height)),
        };
      }));
    }
  }
  say("end", { hosts: [...hosts], problems, stored: job.noScript ? "" : await stored(page) });
} finally {
  await browser.close();
  input.close();
  process.stdin.destroy();
}

/** Type an invitation, and wait for what the page says of it. */
async function invited(page, invitation) {
  if (!invitation) return;
  await page.fill("#invitation", invitation);
  await page.locator("#invitation").press("Tab");
  await page.waitForFunction(() => !document.getElementById("status").textContent.includes("before you press"));
}

/** By keyboard alone: to the choice, choose, to the button, press. */
async function answer(page, { number, choice }, invitation) {
  await invited(page, invitation);
  if (number !== undefined) await page.fill("#number", number);
  else await page.getByLabel(choice, { exact: true }).press("Space");
  await page.locator("#send").press("Enter");
  await page.waitForSelector("#status.done, #status.problem");
}

/** All that the page keeps, as text. */
function stored(page) {
  return page.evaluate(async () => {
    let opening;
    try {
      opening = indexedDB.open("smoothdp");
    } catch {
      return "";
    }
    const opened = await new Promise((done) => { opening.onsuccess = () => done(opening.result); });
    if (!opened.objectStoreNames.contains("rows")) return "";
    const all = opened.transaction("rows").objectStore("rows").getAll();
    await new Promise((done) => { all.onsuccess = done; });
    return JSON.stringify(all.result.map((row) => (
      { state: row.state, report: row.report?.length ?? 0, fields: Object.keys(row) })));
  });
}
