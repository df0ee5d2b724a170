"""The poll page in a real browser: answers, results, storage, other people, bad browsers.

Needs node, chromium and the packages of browser/; without them the run says what brings them.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from smoothdp.services.client.inclusion import Standing
from smoothdp.services.client.submit import USED
from smoothdp.services.demo.poll_demo import Poll, poll_on_loopback
from smoothdp.services.formats.report import sealed_bytes
from tests.browsers import MISSING, chromium
from tests.services.page.page_program import BUNDLE, FOLDER

pytestmark = pytest.mark.slow

LONG = "MMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMM or whatever else there may be to drink"
FEW: dict[str, Any] = {"made_up": (1, 0) * 10, "epsilon": "4", "delta": "0.01"}


@pytest.fixture(scope="module")
def browser() -> str:
    if shutil.which("node") is None:
        pytest.skip("node is not installed")
    if not (FOLDER / "node_modules" / "playwright-core").is_dir():
        pytest.skip("browser/node_modules is not there")
    found = chromium()
    if found is None:
        pytest.skip(MISSING)
    return found


@contextmanager
def driven(browser: str, **job: Any) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        ["node", "test/drive.mjs"],
        cwd=FOLDER,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        tell(process, json.dumps({"browser": browser, **job}))
        yield process
        assert process.wait(60) == 0
    finally:
        process.kill()
        process.communicate()


def tell(process: subprocess.Popen[str], line: str) -> None:
    assert process.stdin is not None
    process.stdin.write(line + "\n")
    process.stdin.flush()


def step(process: subprocess.Popen[str], name: str) -> dict[str, Any]:
    assert process.stdout is not None
    line = json.loads(process.stdout.readline())
    assert line["step"] == name, line
    return dict(line)


@pytest.fixture(scope="module")
def poll() -> Iterator[Poll]:
    with poll_on_loopback(**FEW) as made:
        yield made


@pytest.fixture(scope="module")
def link(poll: Poll) -> str:
    return poll.link


def evaluated(browser: str, link: str, code: str) -> Any:
    with driven(browser, link=link, evaluate=code) as process:
        value = step(process, "evaluated")["value"]
        step(process, "end")
    return value


@pytest.mark.parametrize(
    ("fields", "answer", "labels"),
    [
        ({}, {"choice": "Yes"}, ["yes", "no"]),
        (
            {
                "protocol": "histogram",
                "domain": ("tea", "coffee", "água & <b>", LONG),
                "made_up": ["tea", "coffee"] * 20,
            },
            {"choice": "água & <b>"},
            ["tea", "coffee", "água & <b>", LONG],
        ),
        (
            {
                "protocol": "low_communication_histogram",
                "domain": ("tea", "coffee", "water"),
                "made_up": ["tea", "coffee"] * 40,
                "has_issuer": False,
            },
            {"choice": "water"},
            ["tea", "coffee", "water"],
        ),
        (
            {"protocol": "real_sum", "bounds": ("0", "10"), "size": 4, "made_up": [2.5] * 20},
            {"number": "3,25"},
            ["mean"],
        ),
        ({"protocol": "paired_count"}, {"choice": "No"}, ["yes", "no"]),
        (
            {"protocol": "paired_histogram", "domain": ("a", "b"), "made_up": ["a", "b"] * 10},
            {"choice": "b"},
            ["a", "b"],
        ),
        (
            {"protocol": "split_sum", "bounds": ("0", "10"), "made_up": [2.5, 7.5] * 10},
            {"number": "12"},
            ["mean"],
        ),
    ],
)
def test_answer_submit_and_see_the_result(
    browser: str, tmp_path: Path, fields: dict[str, Any], answer: dict[str, str], labels: list[str]
) -> None:
    users = len((FEW | fields)["made_up"]) + 1
    with (
        poll_on_loopback(**(FEW | fields)) as poll,
        driven(
            browser,
            link=poll.link,
            invitation=poll.invitation,
            result=True,
            shots=str(tmp_path),
            **answer,
        ) as process,
    ):
        sent = step(process, "sent")
        assert "has arrived" in sent["text"]
        assert poll.answered() == users
        # One request and one report, of the one length of each; no secret is in an address.
        *asked, post = sent["sent"]
        signed = poll.task.signed
        assert [len(one["hex"]) for one in asked] == [2 * 259 * poll.task.slots] * signed
        assert len(post["hex"]) == 2 * sealed_bytes(poll.task.slots, signed)
        for secret in (poll.link.partition("#")[2], poll.invitation or "none"):
            assert not any(secret in one["url"] for one in sent["sent"])
        document = poll.close()
        assert document["users"] == users
        assert document["invalid_slots"] == 0
        tell(process, "closed")
        result = step(process, "result")
        assert [row[0] for row in result["rows"]] == labels
        assert all(" ± " in row[1] for row in result["rows"])
        assert result["whiskers"] == len(labels)
        assert f"{users} people" in result["caption"]
        assert "95% confidence" in result["caption"]
        assert document["sentence"] in result["guarantee"]
        assert result["oneHost"]
        assert '"shuffler" is the first service' in result["terms"]
        assert str(Standing.INCLUDED) == result["standing"]
        narrow = step(process, "narrow")
        assert narrow["page"] <= 320
        assert 0 <= narrow["left"] < narrow["right"] <= 320
        assert narrow["height"] >= 14
        assert "leave this page" in result["known"] or "made-up " in result["known"]
        end = step(process, "end")
        issuer = [poll.task.issuer.url.split("/")[2]] if poll.task.issuer else []
        assert sorted(end["hosts"]) == sorted([poll.link.split("/")[2], *issuer])
        assert end["problems"] == []
        # What is kept is sealed: neither the answer nor what it was randomised to.
        (kept,) = json.loads(end["stored"])
        length = sealed_bytes(poll.task.slots, signed) - 55
        assert (kept["state"], kept["report"]) == ("sent", length)
        named = ["pass"] if signed else []
        always = ["cardDigest", "ends", "isSigned", *named]
        assert sorted(kept["fields"]) == [*always, "report", "state"]
    assert (tmp_path / "question.png").stat().st_size > 10_000
    assert (tmp_path / "result.png").stat().st_size > 10_000


PRESSING = """
const taskId = location.pathname.split("/")[2];
const encoded = await (await fetch(`/v2/tasks/${taskId}`)).arrayBuffer();
const task = await smoothdp.readTask(encoded, taskId);
const window_ = smoothdp.windowAt(task, Date.now() / 1000);
const sent = [], told = [];
// The issuer is the real one; this shuffler keeps what it is sent, and answers as it is told.
const fetcher = async (url, fields) => {
  if (!url.startsWith("/v2/reports/")) return fetch(url, fields);
  sent.push(smoothdp.toHex(fields.body));
  return new Response(null, { status: told.shift() ?? 503 });
};
const press = (datum, more = {}) => smoothdp.submit({
  task, taskId, pass: PASS, invitation: INVITATION, datum, window: window_, fetcher,
  pause: async () => {}, ...more,
}).then(() => "", (error) => error.message);
const kept = async () => {
  const place = { taskId, window: window_, who: await smoothdp.outcomes.nameOf(INVITATION) };
  const row = await smoothdp.outcomes.find(place);
  return row && [row.state, row.report && smoothdp.toHex(row.report)];
};
"""


def pressing(poll: Poll, code: str) -> str:
    """Return a program for the page of one more participant."""
    link, invitation = poll.invite()
    secrets = f"const PASS = {link.partition('#')[2]!r}, INVITATION = {invitation!r};"
    return secrets + PRESSING + code


def test_a_refusing_shuffler_gets_one_report_over_loads_of_the_page(
    browser: str, poll: Poll
) -> None:
    """With the browser's own storage, and the real issuer."""
    code = pressing(
        poll,
        """
        const said = [];
        for (let i = 0; i < 10; i++) { told.push(503, 409); said.push(await press(i % 2)); }
        return { sent, said, kept: await kept() };
        """,
    )
    with driven(browser, link=poll.link, evaluate=code, reloaded=[code]) as process:
        found = [step(process, "evaluated")["value"] for _ in range(2)]
        step(process, "end")
    sealed = [one for part in found for one in part["sent"]]
    assert len(set(sealed)) == len(sealed) == 40
    assert found[0]["kept"] == found[1]["kept"]
    assert found[0]["kept"][0] == "final"
    assert all("Another report came with this pass" in said for said in found[0]["said"])


def test_a_cleared_browser_is_refused_by_the_issuer_and_sends_nothing(
    browser: str, poll: Poll
) -> None:
    code = pressing(
        poll,
        """
        told.push(202);
        const said = [await press(1)];
        await new Promise((done) => { indexedDB.deleteDatabase("smoothdp").onsuccess = done; });
        said.push(await press(0));
        return { said, sent: sent.length };
        """,
    )
    found = evaluated(browser, poll.link, code)
    assert found["said"] == ["", f"{USED}."]
    assert found["sent"] == 1


def test_tabs_at_once_and_clocks_that_were_wrong(browser: str, poll: Poll) -> None:
    code = pressing(
        poll,
        """
        const typed = ` ${INVITATION.toUpperCase()}`;
        await Promise.all([press(0), press(1), press(0, { invitation: typed })]);
        const together = sent.length, before = await kept();
        // Four windows later what is over is replaced by its marks; then the clock is set right.
        const later = Date.now() / 1000 + 4 * task.window_seconds;
        const ahead = { window: window_ + 4, seconds: () => later };
        const said = [await press(1, ahead), await press(1)];
        return { together, before, after: sent.length - together, said, left: await kept() };
        """,
    )
    found = evaluated(browser, poll.link, code)
    assert found["together"] == 15
    assert found["before"][0] == "final"
    assert found["after"] == 0
    assert "There is no card of this window yet" in found["said"][0]
    assert "It may have arrived" in found["said"][1]
    assert found["left"] == ["marks of a report without an answer", None]


def test_a_page_may_ask_its_own_host_and_the_issuer_alone(browser: str, poll: Poll) -> None:
    """And an issuer that answers another page is not asked by it: its browser refuses."""
    found = evaluated(
        browser,
        poll.link,
        """
        const tried = (url) => fetch(url).then((answer) => answer.status, () => "refused");
        const taskId = location.pathname.split("/")[2];
        const task = await (await fetch(`/v2/tasks/${taskId}`)).json();
        const port = new URL(task.issuer.url).port;
        return [await tried(`${task.issuer.url}/v2/tasks/00/cards/1`),
          await tried(`http://127.0.0.1:${port}/v2/tasks/00/cards/1`),
          await tried("http://localhost:9/")];
        """,
    )
    assert found == [404, "refused", "refused"]


def test_a_browser_without_webcrypto_gets_one_message(browser: str, link: str) -> None:
    # Plain http to another name than localhost: browsers give no WebCrypto there.
    port = link.split("/")[2].split(":")[1]
    far = link.replace(f"localhost:{port}", f"poll.example:{port}")
    for job in (
        {"link": far, "args": ["--host-resolver-rules=MAP poll.example 127.0.0.1"]},
        {
            "link": link,
            "before": "Object.defineProperty(Crypto.prototype, 'subtle', {value: undefined})",
        },
    ):
        with driven(browser, expect="no WebCrypto", **job) as process:
            status = step(process, "status")
            assert "Nothing was sent" in status["text"]
            assert not status["form"]
            step(process, "end")


def test_a_browser_that_checks_no_signatures_is_sent_away(browser: str, link: str) -> None:
    before = (
        "const ours = SubtleCrypto.prototype.importKey;"
        "SubtleCrypto.prototype.importKey = function (form, key, algorithm, ...more) {"
        "  if (algorithm === 'Ed25519') throw new DOMException('No', 'NotSupportedError');"
        "  return ours.call(this, form, key, algorithm, ...more); };"
    )
    with driven(browser, link=link, before=before, expect="newer browser") as process:
        assert not step(process, "status")["form"]
        step(process, "end")


@pytest.mark.parametrize(
    "before",
    [
        "Object.defineProperty(window, 'indexedDB', {value: undefined})",
        "Object.defineProperty(window, 'indexedDB', {get() { throw new Error('No'); }})",
        "IDBFactory.prototype.open = () => { throw new DOMException('No', 'SecurityError'); }",
    ],
)
def test_a_browser_that_keeps_nothing(browser: str, link: str, before: str) -> None:
    with driven(browser, link=link, before=before, expect="randomised twice") as process:
        status = step(process, "status")
        assert "Allow storage for this page" in status["text"]
        assert not status["form"]
        step(process, "end")


def test_a_browser_without_javascript_is_told_so_alone(browser: str, link: str) -> None:
    with driven(browser, link=link, noScript=True) as process:
        text = step(process, "text")["text"]
        assert "needs JavaScript" in text
        assert "Loading" not in text
        step(process, "end")


def test_several_people_in_one_browser_each_count(browser: str) -> None:
    with poll_on_loopback(**FEW) as poll:
        second, (wrong, third) = poll.invite(), poll.invite()
        wrong = wrong.partition("#")[0] + "#" + "00" * 48
        first = (poll.link, poll.invitation)
        links = [first, second, first, (second[0], third)]
        job: dict[str, Any] = {"link": wrong, "invitation": poll.invitation, "choice": "Yes"}
        with driven(browser, links=links, **job) as process:
            told = [step(process, "sent") for _ in range(5)]
            step(process, "end")
        assert "for a pass of this task" in told[0]["text"]
        assert all("has arrived" in one["text"] for one in told[1:4])
        assert "sending again sends the same report" in told[1]["before"]
        assert "Nothing has been sent" in told[2]["before"]
        assert "and has arrived" in told[3]["before"]
        # One pass is one report: with another invitation nothing is sent.
        assert "There is one answer with a link" in told[4]["text"]
        posts = [post["url"] for post in told[4]["sent"]]
        tokens = [url for url in posts if "/v2/tokens/" in url]
        # Tokens are asked for once an invitation, and what arrived is not sent again.
        assert (len(tokens), len(posts) - len(tokens)) == (2, 3)
        assert poll.answered() == len(FEW["made_up"]) + 2


def test_a_poll_without_an_issuer(browser: str) -> None:
    with poll_on_loopback(**FEW, has_issuer=False) as poll:
        second, _ = poll.invite()
        wrong = poll.link.partition("#")[0] + "#" + "00" * 48
        links = [(poll.link, ""), (second, ""), (poll.link, "")]
        with driven(browser, link=wrong, choice="Yes", links=links) as process:
            told = [step(process, "sent") for _ in range(4)]
            assert step(process, "end")["hosts"] == [poll.link.split("/")[2]]
        assert "for a pass of this task" in told[0]["text"]
        assert "with another link, and is not known to have arrived" in told[1]["before"]
        assert "that was randomised here before" in told[1]["text"]
        assert "Nothing has been sent" in told[2]["before"]
        assert "and has arrived" in told[3]["before"]
        assert poll.answered() == len(FEW["made_up"]) + 2


def test_no_number_is_refused_in_a_sentence_and_nothing_is_sent(browser: str) -> None:
    fields: dict[str, Any] = {"protocol": "real_sum", "bounds": ("0", "10"), "size": 4}
    with poll_on_loopback(**(FEW | fields | {"made_up": [2.5, 7.5] * 10})) as poll:
        with driven(browser, link=poll.link, invitation=poll.invitation, number="abc") as process:
            told = step(process, "sent")
            assert step(process, "end")["stored"] == "[]"
        assert "That is not a number. Write" in told["text"]
        assert "abc" not in told["text"]
        assert told["sent"] == []
        assert poll.answered() == 20


@pytest.mark.parametrize(("windows", "closed"), [(1, True), (2, False)])
def test_a_poll_whose_windows_are_all_published_is_closed(
    browser: str, windows: int, closed: bool
) -> None:
    days_later = "const now = Date.now; Date.now = () => now() + 3 * 86400e3"
    with poll_on_loopback(**FEW, windows=windows) as poll:
        # Before there is a result, a later window is open: its answers may be those that count.
        with driven(browser, link=poll.link, before=days_later, expect="Nothing") as process:
            assert step(process, "status")["form"]
            step(process, "end")
        poll.close()
        words = "This poll is closed" if closed else "Nothing is sent before"
        with driven(browser, link=poll.link, before=days_later, expect=words) as process:
            status = step(process, "status")
            assert status["form"] is not closed
            assert status["result"]
            step(process, "end")


def test_the_committed_client_is_what_its_source_builds(browser: str, tmp_path: Path) -> None:
    assert browser
    built = tmp_path / "poll.js"
    done = subprocess.run(
        ["npm", "run", "build", "--", f"--outfile={built}"],
        cwd=FOLDER,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert built.read_bytes() == BUNDLE.read_bytes(), "run make browser and commit the result"
