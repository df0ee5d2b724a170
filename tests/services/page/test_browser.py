"""The poll page in a real browser: answers, results, vectors, the law, bad browsers.

Needs node, chromium and the packages of browser/; without them the run says what brings them.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from smoothdp.services.wire.envelope import DUMMY, inner_info, open_envelope, open_slot

from smoothdp.services.demo.poll_demo import poll_on_loopback
from smoothdp.services.wire.hybrid import PrivateKey
from tests.browsers import MISSING, chromium
from tests.services.changing_keys import check_copies_count_once
from tests.services.page_attack import SERVICE, bundles
from tests.services.world import small_task

pytestmark = pytest.mark.slow

FOLDER = Path(__file__).parents[2] / "browser"
BUNDLE = FOLDER.parent / "src" / "smoothdp" / "services" / "shuffler" / "poll_page" / "poll.js"
LONG = "MMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMM or whatever else there may be to drink"
VECTORS = Path(__file__).parent / "vectors" / "envelopes.json"


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
def link() -> Iterator[str]:
    with poll_on_loopback() as poll:
        yield poll.link


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
                "made_up": ["tea", "coffee"] * 150,
            },
            {"choice": "água & <b>"},
            ["tea", "coffee", "água & <b>", LONG],
        ),
        (
            {
                "protocol": "real_sum",
                "bounds": ("0", "10"),
                "size": 4,
                "made_up": [2.5, 7.5] * 150,
            },
            {"number": "3,25"},
            ["mean"],
        ),
    ],
)
def test_answer_submit_and_see_the_result(
    browser: str, tmp_path: Path, fields: dict[str, Any], answer: dict[str, str], labels: list[str]
) -> None:
    with (
        poll_on_loopback(**fields) as poll,
        driven(browser, link=poll.link, result=True, shots=str(tmp_path), **answer) as process,
    ):
        sent = step(process, "sent")
        assert "has arrived" in sent["text"]
        assert poll.answered() == 301
        # One envelope of the one length; the token is in no address.
        (post,) = sent["sent"]
        assert len(post["hex"]) == 2 * (104 + 52 * poll.task.slots)
        token = poll.link.partition("#")[2]
        assert token not in post["url"]
        document = poll.close()
        assert document["users"] == 301
        assert document["invalid_slots"] == document["repeated_slots"] == 0
        tell(process, "closed")
        result = step(process, "result")
        assert [row[0] for row in result["rows"]] == labels
        assert all(" ± " in row[1] for row in result["rows"])
        assert result["whiskers"] == len(labels)
        assert "301 people" in result["caption"]
        assert "95% confidence" in result["caption"]
        assert document["sentence"] in result["guarantee"]
        assert result["oneHost"]
        assert '"shuffler" is the first service' in result["terms"]
        narrow = step(process, "narrow")
        assert narrow["page"] <= 320
        assert 0 <= narrow["left"] < narrow["right"] <= 320
        assert narrow["height"] >= 14
        assert "leave this page" in result["known"] or "made-up choices" in result["known"]
        end = step(process, "end")
        assert end["hosts"] == [poll.link.split("/")[2]]
        assert end["problems"] == []
        # What is kept is sealed: neither the answer nor what it was randomised to.
        (kept,) = json.loads(end["stored"])
        assert kept["slots"] == 52 * poll.task.slots
        assert sorted(kept["fields"]) == ["accepted", "envelope", "keyId", "reportId", "sealedTo"]
    assert (tmp_path / "question.png").stat().st_size > 10_000
    assert (tmp_path / "result.png").stat().st_size > 10_000


def test_73_the_vectors_good_and_bad(browser: str, link: str) -> None:
    vectors = VECTORS.read_text()
    found = evaluated(
        browser,
        link,
        f"const v = {vectors};"
        """
        const { fromHex, toHex, openEnvelope, openSlot, readTask } = smoothdp;
        const outer = fromHex(v.outer_private_key), inner = fromHex(v.inner_private_key);
        await readTask(new TextEncoder().encode(v.task), v.task_id);
        const good = [];
        for (const one of v.good) {
          const { reportId, slots } = await openEnvelope(fromHex(one.envelope), outer);
          const values = [];
          for (const slot of slots) {
            values.push(await openSlot(slot, inner, fromHex(v.task_id), v.window));
          }
          good.push({ report_id: toHex(reportId), values });
        }
        const opens = (promise) => promise.then(() => true, () => false);
        const bad = [];
        for (const one of v.bad) {
          if (await opens(openEnvelope(fromHex(one.envelope), outer))) bad.push(one.name);
        }
        for (const one of v.bad_inner) {
          const slot = openSlot(fromHex(one.slot), inner, fromHex(v.task_id), v.window);
          if (await opens(slot)) bad.push(one.name);
        }
        return { good, bad };
        """,
    )
    document = json.loads(vectors)
    assert found["good"] == [
        {"report_id": one["report_id"], "values": one["values"]} for one in document["good"]
    ]
    assert found["bad"] == []


def test_73_what_the_browser_seals_opens_here(browser: str, link: str) -> None:
    outer, inner = PrivateKey.generate(), PrivateKey.generate()
    values = [0, 1, DUMMY, 7]
    sealed = evaluated(
        browser,
        link,
        f"""
        const {{ fromHex, toHex, sealEnvelope, sealValues }} = smoothdp;
        const at = {{ taskId: new Uint8Array(32).fill(9), window: 4294967295 }};
        const inner = {{ ...at, innerKey: fromHex("{inner.public.to_bytes().hex()}"),
          values: {values} }};
        const outer = {{ ...at, keyId: 200, outerKey: fromHex("{outer.public.to_bytes().hex()}"),
          reportId: new Uint8Array(16).fill(5), slots: await sealValues(inner) }};
        const envelope = toHex(await sealEnvelope(outer));
        const weak = [];
        for (const key of ["00".repeat(32), "01" + "00".repeat(31), "ff"]) {{
          const sealing = sealEnvelope({{ ...outer, outerKey: fromHex(key) }});
          await sealing.then(() => weak.push(key), () => 0);
          const slot = sealValues({{ ...inner, innerKey: fromHex(key) }});
          await slot.then(() => weak.push(key), () => 0);
        }}
        return {{ envelope, weak }};
        """,
    )
    report_id, slots = open_envelope(bytes.fromhex(sealed["envelope"]), key=outer)
    assert report_id == b"\5" * 16
    info = inner_info(b"\t" * 32, 4294967295)
    cut = [slots[at : at + 52] for at in range(0, len(slots), 52)]
    assert [open_slot(slot, key=inner, info=info) for slot in cut] == values
    assert sealed["weak"] == []


def test_the_law_is_exact_at_its_edges(browser: str, link: str) -> None:
    task = json.loads(small_task().encoded)
    threshold = int(task["noise"])
    found = evaluated(
        browser,
        link,
        f"const task = {json.dumps(task)}; const threshold = {threshold}n;"
        """
        const words = (...list) => (size) => {
          const value = list.shift();
          const byte = (_, i) => Number((value >> BigInt(8 * (size - 1 - i))) & 255n);
          return Uint8Array.from({ length: size }, byte);
        };
        const { below, bernoulli, fraction, randomize } = smoothdp;
        const flips = [0n, threshold - 1n, threshold, (1n << 64n) - 1n].map(
          (word) => randomize(task, 1, words(word))[0]);
        // Every byte in turn: 6 of the 8 low patterns are taken, each equally often.
        const counts = {};
        for (let byte = 0n; byte < 256n; byte++) {
          let first = true;
          const value = below(6, (size) => words(first ? ((first = false), byte) : 0n)(size));
          if ((byte & 7n) < 6n) counts[value] = (counts[value] ?? 0) + 1;
        }
        const draws = [0n, 1n, 2n].map((word) => bernoulli([2n, 3n], words(word)));
        return { flips, counts, draws, number: fraction("-1.25e-2").map(String) };
        """,
    )
    assert found["flips"] == [0, 0, 1, 1]
    assert found["counts"] == {str(value): 32 for value in range(6)}
    assert found["draws"] == [True, True, False]
    assert found["number"] == ["-125", "10000"]


@pytest.mark.parametrize("protocol", ["boolean_sum", "real_sum", "histogram"])
def test_the_law_is_that_of_the_python_client(browser: str, link: str, protocol: str) -> None:
    task = small_task(protocol)
    datum: Any = {"boolean_sum": 1, "real_sum": "0.4", "histogram": "b"}[protocol]
    draws = 20_000
    found = evaluated(
        browser,
        link,
        f"""
        const counts = {{}};
        for (let i = 0; i < {draws}; i++) {{
          const values = smoothdp.randomize({task.encoded.decode()}, {json.dumps(datum)});
          const key = JSON.stringify(values);
          counts[key] = (counts[key] ?? 0) + 1;
        }}
        return counts;
        """,
    )
    expected = law(task, datum)
    assert sum(expected.values()) == 1
    seen = {tuple(json.loads(key)): n for key, n in found.items()}
    assert set(seen) <= set(expected)
    statistic = sum(
        (seen.get(value, 0) - draws * float(p)) ** 2 / (draws * float(p))
        for value, p in expected.items()
        if p
    )
    freedom = len(expected) - 1
    # Wilson and Hilferty's cube root: 5.2 sigma is passed with probability 1e-7.
    limit = freedom * (1 - 2 / (9 * freedom) + 5.2 * (2 / (9 * freedom)) ** 0.5) ** 3
    assert statistic < limit


def law(task: Any, datum: Any) -> dict[tuple[int, ...], Fraction]:
    """Return the probability of every outcome in order, by enumeration."""
    outcomes: dict[tuple[int, ...], Fraction] = Counter()  # type: ignore[assignment]

    def spread(values: list[int], weight: Fraction) -> None:
        from itertools import permutations

        orders = Counter(permutations(values))
        for order, n in orders.items():
            outcomes[order] += weight * n / sum(orders.values())

    def subsets(items: list[Any], odds: Any) -> Iterator[tuple[list[Any], Fraction]]:
        for choice in range(1 << len(items)):
            weight = Fraction(1)
            for place in range(len(items)):
                weight *= odds if choice >> place & 1 else 1 - odds
            yield [item for place, item in enumerate(items) if choice >> place & 1], weight

    if task.protocol == "histogram":
        for noise, weight in subsets(list(range(task.size)), 1 - Fraction(task.noise)):
            values = [task.domain.index(datum), *noise]
            spread(values + [DUMMY] * (task.slots - len(values)), weight)
        return outcomes
    q = Fraction(int(task.noise), 1 << 64)
    share = task.size * Fraction(datum)
    whole, rest = int(share), share - int(share)
    if rest:
        rest = Fraction(int(task.size * round(Fraction(datum) * (1 << 62))) % (1 << 62), 1 << 62)
    for ones, weight in ((whole, 1 - rest), (whole + 1, rest)):
        if not weight:
            continue
        bits = [1] * ones + [0] * (task.size - ones)
        for flipped, odds in subsets(list(range(task.size)), q):
            spread([bit ^ (place in flipped) for place, bit in enumerate(bits)], weight * odds)
    return outcomes


def test_a_retry_sends_the_same_and_another_answer_changes_nothing(browser: str, link: str) -> None:
    found = evaluated(
        browser,
        link,
        """
        const taskId = location.pathname.split("/")[2];
        const encoded = await (await fetch(`/v1/tasks/${taskId}`)).arrayBuffer();
        const task = await smoothdp.readTask(encoded, taskId);
        const sent = [];
        const keys = await (await fetch("/v1/keys")).json();
        const service = (answers, keyId) => async (path, fields) => {
          const json = async () => ({ ...keys, key_id: keyId });
          if (path === "/v1/keys") return { ok: true, json };
          sent.push(smoothdp.toHex(fields.body));
          const status = answers.shift();
          if (status === 0) throw new TypeError("lost");
          return { status };
        };
        const send = (datum, answers, keyId) => smoothdp.submit({
          task, taskId, token: "00", datum, window: 77, fetcher: service(answers, keyId),
          pause: async () => {},
        });
        await send(1, [0, 503, 202], 1);
        await send(0, [202], 1);
        await send(0, [409, 202], 2);
        const refused = await send(0, [401], 1).catch((error) => error.message);
        const away = await send(0, [0, 0, 0, 0, 0], 1).catch((error) => error.message);
        const other = await smoothdp.readTask(encoded, "00".repeat(32)).catch((e) => e.message);
        return { sent, refused, away, other };
        """,
    )
    first, sent = found["sent"][0], found["sent"]
    assert sent[:4] == [first] * 4
    # A new key: sealed anew once, and then the same again.
    assert sent[4] == sent[5] != first
    assert "link" in found["refused"]
    assert "does not answer" in found["away"]
    assert "not those of its name" in found["other"]


def test_copies_collected_under_many_keys_count_once(
    browser: str, link: str, tmp_path: Path
) -> None:
    """With the browser's own storage, and the page loaded anew in between."""
    code = (
        f"let first = %d; {SERVICE} for (let i = 0; i < 10; i++) await press(i % 2); return sent;"
    )
    first, again = (code.replace("%d", number) for number in ("0", "50"))
    with driven(browser, link=link, evaluate=first, reloaded=[again]) as process:
        sent = [line for _ in range(2) for line in step(process, "evaluated")["value"]]
        step(process, "end")
    assert len({text for _, text in sent}) == 100
    got = bundles(sent)
    check_copies_count_once(tmp_path, [slots for _, slots in got])
    assert len(set(got)) == 1


def test_tabs_at_once_and_clocks_that_were_wrong(browser: str, link: str) -> None:
    found = evaluated(
        browser,
        link,
        f"let first = 0; {SERVICE}"
        """
        await Promise.all([press(0), press(1), press(0, " AB")]);
        const together = sent.length;
        await press(1, "ab", now + 4);
        const said = await press(1);
        return { sent: sent.slice(0, together), after: sent.length - together, said };
        """,
    )
    assert len(found["sent"]) == 15
    assert len(set(bundles(found["sent"]))) == 1
    assert found["after"] == 5
    assert "Nothing was sent now" in found["said"]


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
    with poll_on_loopback() as poll:
        second = poll.invite()
        wrong = poll.link.partition("#")[0] + "#00"
        links = [poll.link, second, poll.link]
        with driven(browser, link=wrong, choice="Yes", links=links) as process:
            told = [step(process, "sent") for _ in range(4)]
            step(process, "end")
        assert "not valid" in told[0]["text"]
        assert all("has arrived" in one["text"] for one in told[1:])
        assert "with another link, and is not known to have arrived" in told[1]["before"]
        assert "that was randomised here before" in told[1]["text"]
        assert "Nothing has been sent" in told[2]["before"]
        assert "already" in told[3]["before"]
        # The report of a wrong code is sent again, that of somebody else is not.
        rejected, one, other, again = [post["hex"] for post in told[3]["sent"]]
        assert rejected == one == again != other
        assert poll.answered() == 302


def test_no_number_is_refused_in_a_sentence_and_nothing_is_sent(browser: str) -> None:
    fields: dict[str, Any] = {"protocol": "real_sum", "bounds": ("0", "10"), "size": 4}
    with poll_on_loopback(**fields, made_up=[2.5, 7.5] * 150) as poll:
        with driven(browser, link=poll.link, number="abc") as process:
            told = step(process, "sent")
            assert step(process, "end")["stored"] == "[]"
        assert '"abc" is not a number. Write' in told["text"]
        assert told["sent"] == []
        assert poll.answered() == 300


@pytest.mark.parametrize(("windows", "closed"), [(1, True), (2, False)])
def test_a_poll_whose_windows_are_all_published_is_closed(
    browser: str, windows: int, closed: bool
) -> None:
    days_later = "const now = Date.now; Date.now = () => now() + 3 * 86400e3"
    with poll_on_loopback(windows=windows) as poll:
        # Before there is a result, a later window is open: its answers may be those that count.
        with driven(browser, link=poll.link, before=days_later, expect="Nothing") as process:
            assert step(process, "status")["form"]
            step(process, "end")
        poll.close()
        words = "This poll is closed" if closed else "Nothing has been sent yet"
        with driven(browser, link=poll.link, before=days_later, expect=words) as process:
            status = step(process, "status")
            assert status["form"] is not closed
            assert status["result"]
            step(process, "end")


def test_how_many_windows_a_task_pays_for(browser: str, link: str) -> None:
    found = evaluated(
        browser,
        link,
        """
        const paid = (epsilon, budget_epsilon, delta, budget_delta) =>
          smoothdp.paidWindows({ epsilon, budget_epsilon, delta, budget_delta });
        const task = { epsilon: "1", budget_epsilon: "2", delta: "1e-6", budget_delta: "2e-6" };
        const closed = (...list) => smoothdp.isClosed(task, list.map((window) => ({ window })));
        return {
          paid: [paid("0.1", "0.3", "1e-6", "1"), paid("1", "9", "1e-7", "3e-7"),
            paid("1/3", "1", "0", "0"), paid("0.7", "1.3", "1e-6", "1e-5")],
          closed: [closed(), closed(7), closed(7, 7), closed(7, 9)],
        };
        """,
    )
    assert found["paid"] == [3, 3, 3, 1]
    assert found["closed"] == [False, False, False, True]


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
