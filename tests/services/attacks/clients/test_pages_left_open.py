"""Pages under two addresses or left open, words of a shuffler about a time that is not over."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import traceback
from collections.abc import Iterator
from decimal import Decimal
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from smoothdp.errors import InvalidData
from smoothdp.services.client.datum import read_datum
from smoothdp.services.client.outcomes import OutcomeStore
from smoothdp.services.formats.task import Task
from tests.browsers import MISSING, chromium
from tests.services.page.page_person import page
from tests.services.page.page_program import BUNDLE, FOLDER, needs_node, run
from tests.services.worlds.issuing_world import HOUR, WINDOW, IssuingWorld, Recorder
from tests.services.worlds.page_of_threats import on_the_page
from tests.services.worlds.page_store import STORE
from tests.services.worlds.small_tasks import small_task

SPENT = "The budget of this poll pays for no more answers of one person"

_TWO_ADDRESSES = """
import { readFileSync } from "node:fs";
const { browser, playwright, port, code } = JSON.parse(readFileSync(0, "utf8"));
const { chromium } = await import(playwright);
const started = await chromium.launch({
  executablePath: browser, args: ["--headless", "--no-sandbox", "--disable-gpu"],
});
const page = await (await started.newContext()).newPage();
const said = [];
for (const [host, where] of [["127.0.0.1", [7, "a", "p"]], ["localhost", [8, "b", "p"]],
  ["localhost", [9, "c", "p"]]]) {
  await page.goto(`http://${host}:${port}/`);
  const work = `${code} return draw(...${JSON.stringify(where)});`;
  said.push(await page.evaluate(`(async () => { ${work} })()`));
}
await started.close();
console.log(JSON.stringify(said));
"""


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def page_port(tmp_path: Path) -> Iterator[int]:
    """Serve the page's program to all names of this machine; yield the port."""
    folder = tmp_path / "served"
    folder.mkdir()
    (folder / "poll.js").write_bytes(BUNDLE.read_bytes())
    (folder / "index.html").write_text("<!doctype html><script src=/poll.js></script>")
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(folder)))
    threading.Thread(target=lambda: server.serve_forever(0.02), daemon=True).start()
    yield server.server_address[1]
    server.shutdown()
    server.server_close()


@needs_node
def test_a_page_under_two_addresses_keeps_two_counts(page_port: int, tmp_path: Path) -> None:
    """The client's "state is that of [...] one browser at one address of the page (a page that
    moves, or has two names, counts anew)" (threats): a budget of one window, and the same pass has
    an answer in two windows. At one address the second is refused.
    """
    playwright, browser = FOLDER / "node_modules" / "playwright-core" / "index.mjs", chromium()
    if browser is None or not playwright.is_file():
        pytest.skip(MISSING)
    program = tmp_path / "two.mjs"
    program.write_text(_TWO_ADDRESSES)
    job = {"browser": browser, "playwright": str(playwright), "port": page_port, "code": STORE}
    done = subprocess.run(
        ["node", str(program)], input=json.dumps(job), capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    first, second, third = json.loads(done.stdout)
    assert first == second == ""
    assert third.startswith(SPENT)
    assert on_the_page("a page that moves, or has two names, counts anew")


@needs_node
def test_a_time_that_was_said_to_be_destroyed_has_no_second_report_behind_a_pass(
    tmp_path: Path,
) -> None:
    """ "With one pass no second report leaves in a window, whatever invitation it is made with"
    (poll).

    A device's clock is ahead for a while: the page takes the window for over, and as the budget is
    spent asks the shuffler whether it was destroyed. A dishonest one says so of the window that it
    still collects. Once the clock is right, a second invitation makes a second report there.
    """
    world = IssuingWorld(tmp_path, windows=1)
    world.open_window()
    try:
        recorder = Recorder(world)
        said = page(
            world,
            recorder,
            """
            const [mine, again] = given.invitations, said = [await press(1, mine)];
            const lying = async (url, fields) => url.includes("/marks/")
              ? new Response(null, { status: 410 }) : fetcher(url, fields);
            said.push(await press(1, again));
            now += 2 * 3600;
            await press(1, mine, { window: given.window + 2, fetcher: lying, attempts: 1 });
            now -= 2 * 3600;
            said.push(await press(1, again));
            return said;
            """,
        )
        assert said[0] == ""
        assert said[1].startswith("An answer of this time was made with this link")
        assert recorder.passes == {f"Bearer {'p' * 96}"}
        assert len({report.encode() for report in recorder.reports()}) == 1
    finally:
        world.close()


_PAGE = """
// As much of a document as the page uses, and a clock that a test moves.
const elements = new Map();
const element = () => ({
  hidden: false, value: "", textContent: "", className: "", tBodies: [{ replaceChildren() {} }],
  append() {}, replaceChildren() {}, reset() {}, addEventListener() {},
});
globalThis.document = {
  createElement: element,
  getElementById: (id) => elements.get(id) ?? elements.set(id, element()).get(id),
};
globalThis.addEventListener = () => {};
globalThis.location = {
  pathname: `/poll/${given.taskId}`, hash: `#${"a".repeat(96)}`, origin: "https://poll.example",
};
let now = given.now, looks;
Date.now = () => 1000 * now;
const sleep = globalThis.setTimeout;
globalThis.setTimeout = (call, after, ...with_) => {
  if (after !== 3000) return sleep(call, after, ...with_);
  looks = () => call(...with_);
};
const text = (words) => new Response(words);
globalThis.fetch = async (url) => {
  if (url.endsWith("/about")) return text('{"question": "Tea?"}');
  if (url.endsWith("/results")) return text("[]");
  return text(given.task);
};
load();
while (!looks) await new Promise((done) => sleep(done, 5));
"""


def _left_open(task: Task, code: str) -> Any:
    given = {
        "task": task.encoded.decode(),
        "taskId": task.task_id.hex(),
        "now": float(WINDOW * HOUR + 600),
        "window": WINDOW,
        "hour": HOUR,
    }
    return run(_PAGE + code, given)


@needs_node
def test_a_page_that_stays_open_keeps_no_seed_for_which_no_tokens_come() -> None:
    """ "A row that is DRAWN still 300 s after the end is missed: no tokens are given in the grace"
    (protocol, 5); on a device is "the seed while tokens are waited for" (threats).

    The issuer is away at the end of a window, and the page stays open: seed and slots go before the
    grace is over.
    """
    found = _left_open(
        small_task(grace_seconds=3600),
        """
        const { outcomes } = smoothdp, of = (number) => new Uint8Array([number]);
        const place = { taskId: given.taskId, window: given.window, who: "a", pass: "p" };
        const row = {
          cardDigest: of(1), state: outcomes.DRAWN, slots: of(2), seed: of(3), isSigned: true,
          ends: (given.window + 1) * given.hour,
        };
        await outcomes.keep(place, { row, signed: of(4) }, { most: 20 });
        const states = [];
        for (const after of [3, 310, 3000]) {
          now = (given.window + 1) * given.hour + after;
          await looks();
          const kept = await outcomes.find(place);
          states.push([kept.state, Boolean(kept.seed)]);
        }
        return states;
        """,
    )
    assert found[0] == ["drawn", True]
    assert found[1:] == [["missed", False]] * 2


@needs_node
def test_a_page_that_stays_open_keeps_no_report_of_a_time_that_is_over() -> None:
    """ "After end + grace by its own clock: replace the report by its M marks" (protocol, 5).

    Held off: of reports that were sent and of those that were not, and no mark is lost.
    """
    found = _left_open(
        small_task(grace_seconds=600),
        """
        const { outcomes, encodeReport, markOf, toHex } = smoothdp;
        const of = (number, size) => new Uint8Array(size).fill(number);
        const ends = (given.window + 1) * given.hour + 600, said = [];
        for (const [number, who] of [[5, "sent"], [6, "final"]]) {
          const place = { taskId: given.taskId, window: given.window, who, pass: who };
          const row = { cardDigest: of(1, 32), state: outcomes.DRAWN, slots: of(2, 1), ends };
          await outcomes.keep(place, { row: { ...row, isSigned: true } }, { most: 20 });
          const report = encodeReport(of(1, 32), [of(number, 52)], [of(9, 256)]);
          await outcomes.keepReport(place, report);
          if (who === "sent") await outcomes.keepSent(place);
          for (const after of [-1, 3]) {
            now = ends + after;
            await looks();
            const { state, report: left, marks } = await outcomes.find(place);
            const same = marks && toHex(marks) === toHex(await markOf(of(number, 52)));
            said.push([state, Boolean(left), Boolean(same)]);
          }
          now = given.now;
          await looks();
        }
        return said;
        """,
    )
    assert found == [
        ["sent", True, False],
        ["marks", False, True],
        ["final", True, False],
        ["marks of a report without an answer", False, True],
    ]


_KILLED_AT_ONCE = """
import os, random, signal, sys, time
from pathlib import Path
from smoothdp.services.client.outcomes import OutcomeStore

path, told = Path(sys.argv[1]), sys.argv[1] + ".told"
coins = random.Random(int(sys.argv[2]))

def work(seed):
    own = random.Random(seed)
    out = os.open(told, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    while True:
        window = own.randrange(10**9)
        row = b"t", window, "me"
        try:
            store = OutcomeStore(path)
            store.keep_card(*row[:2], digest=b"d", signed=b"c")
            slots, seed_bytes = b"SLOT%012d" % window, b"SEED%012d" % window
            drawn = {"card_digest": b"d", "slots": slots, "seed": seed_bytes}
            store.keep(*row, **drawn, most=10**9)
            os.write(out, b"drawn %d\\n" % window)
            store.keep_report(*row, b"REPO%012d" % window)
            os.write(out, b"final %d\\n" % window)
            store.keep_sent(*row)
            os.write(out, b"sent %d\\n" % window)
            store.keep_marks(*row, b"MARK%012d" % window)
            store.close()
            os.write(out, b"marks %d\\n" % window)
        except Exception as error:
            os.write(out, b"%s 0\\n" % type(error).__name__.encode())

running, end, made = [], time.monotonic() + 3, 0
while time.monotonic() < end:
    while len(running) < 3:
        made += 1
        child = os.fork()
        if not child:
            work(made)
        running.append(child)
    time.sleep(coins.uniform(0.02, 0.12))
    child = running.pop(coins.randrange(3))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
for child in running:
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_programs_that_are_killed_beside_each_other_lose_no_row_and_leave_no_seed(
    tmp_path: Path,
) -> None:
    """ "Two programs of one person may run at once: each goes on from what the row is", "no state
    goes back" (protocol, 5); "what is not where it was takes nothing more".

    Held off: three programs in one state, one of which is killed every few hundredths of a second
    while the others write, erase and begin the log anew.
    """
    path = tmp_path / "windows.sqlite"
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", _KILLED_AT_ONCE, str(path), "24"],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    told: dict[int, str] = {}
    for line in path.with_name("windows.sqlite.told").read_text().splitlines():
        words = line.split()
        told[int(words[1])] = words[0]
    order = ["drawn", "final", "sent", "marks"]
    # No program was refused for another one's end.
    assert set(told.values()) <= set(order)
    assert len(told) > 10
    store = OutcomeStore(path)
    rows = {window: store.get(b"t", window, "me") for window in told}
    store.close()
    raw = b"".join(file.read_bytes() for file in tmp_path.glob("windows.sqlite*"))
    for window, state in told.items():
        row = rows[window]
        assert row is not None
        assert order.index(row.state) >= order.index(state)
        assert (b"SEED%012d" % window in raw) == (row.state == "drawn")
        assert (b"REPO%012d" % window in raw) == (row.state in ("final", "sent"))


@pytest.mark.parametrize(
    "datum",
    ["4242x", "1e4242424242", "4242/0", "9" * 5000 + "4242", "ln(-4242)", Decimal("NaN4242")],
    ids=range(6),
)
def test_a_number_that_is_none_is_in_no_words_and_in_no_cause(datum: Any) -> None:
    """A datum outside the domain "is not repeated": nor in the error that was met before.

    Held off: logs of a program that calls show causes too.
    """
    with pytest.raises(InvalidData) as met:
        read_datum(small_task("real_sum"), datum)
    said = "".join(traceback.format_exception_only(met.value))
    causes = [met.value.__cause__, met.value.__context__]
    assert "4242" not in said
    assert causes == [None, None]
