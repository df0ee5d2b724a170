"""What the Python client promises, asked of the page where services, tabs or storage fail it."""

from __future__ import annotations

import json
from typing import Any

from smoothdp.services.client.inclusion import Standing
from smoothdp.services.formats.batch import BatchHeader
from smoothdp.services.formats.marks import MarksFile
from smoothdp.services.formats.report import Report
from tests.services.page.page_person import page, served
from tests.services.page.page_program import needs_node, run
from tests.services.worlds.issuing_world import IssuingWorld, Recorder
from tests.services.worlds.small_tasks import SHUFFLER_SIGN, small_task

pytestmark = needs_node

GONE = "What was kept of this answer is not there any more"


# ---- a tab that is closed, and tabs that go on beside another


def test_a_tab_that_is_closed_between_any_two_steps_sends_one_report(
    world: IssuingWorld,
) -> None:
    """Before and after each transaction and each request; then the page is loaded again."""
    recorder = Recorder(world)
    found = page(
        world,
        recorder,
        """
        const all = [];
        for (const who of given.invitations) {
          asked.length = 0;
          let steps = 0, stop;
          const stopped = new Promise((done) => { stop = () => done("stopped"); });
          globalThis.atStep = () => {
            if (++steps <= all.length) return undefined;
            stop();
            return new Promise(() => {});
          };
          const closed = async (url, fields) => {
            await atStep();
            const answer = await fetcher(url, fields);
            await atStep();
            return answer;
          };
          const pass = who.repeat(2);
          const first = await Promise.race([press(1, who, { pass, fetcher: closed }), stopped]);
          globalThis.atStep = undefined;
          load();
          const said = await press(0, who, { pass });
          const bodies = asked.map(([, body]) => body);
          const tokens = asked.filter(([url]) => url.includes("/tokens/")).map(([, body]) => body);
          all.push([first, said, new Set(tokens).size]);
          if (first === "") break;
        }
        return { all, states: hex(stored.rows).map((row) => row.state) };
        """,
        invitations=[world.invitation() for _ in range(60)],
    )
    *stopped, last = found["all"]
    assert last[0] == ""
    assert len(stopped) > 20
    assert [one for one in found["all"] if one[1] != "" or one[2] != 1] == []
    assert set(found["states"]) == {"sent"}
    assert len({report.encode() for report in recorder.reports()}) == len(found["all"])
    assert served(world) == len(found["all"])


def test_a_tab_that_is_refused_goes_on_with_what_another_has_made(world: IssuingWorld) -> None:
    """An issuer that answers the second one badly, or for too many times, ends nothing."""
    recorder = Recorder(world)
    found = page(
        world,
        recorder,
        """
        const said = [], bad = [[200, 256], [200, 0], [429, 0], [503, 0]];
        for (const [at, [status, size]] of bad.entries()) {
          const who = given.invitations[at], pass = who.repeat(2);
          const late = async (url, fields) => {
            if (!url.includes("/tokens/")) return fetcher(url, fields);
            said.push(await press(0, who, { pass }));  // another tab, from its beginning to its end
            return new Response(new Uint8Array(size), { status });
          };
          said.push(await press(1, who, { pass, fetcher: late, attempts: 1 }));
        }
        return [said, hex(stored.rows).map((row) => row.state)];
        """,
    )
    assert found == [[""] * 8, ["sent"] * 4]
    assert len({report.encode() for report in recorder.reports()}) == 4


def test_what_another_tab_took_away_is_said_and_nothing_is_sent(world: IssuingWorld) -> None:
    """The storage is cleared, or a clock was ahead for a while: no service is blamed for it."""
    recorder = Recorder(world)
    found = page(
        world,
        recorder,
        """
        const said = [];
        const clear = () => { stored.rows.clear(); stored.cards.clear(); };
        const ahead = () => smoothdp.settle({ task, taskId, seconds: given.now + 1e6 });
        for (const [at, [which, lose]] of [["/cards/", clear], ["/tokens/", clear],
          ["/tokens/", ahead], ["/tokens/", clear]].entries()) {
          const losing = async (url, fields) => {
            const answer = await fetcher(url, fields);
            if (url.includes(which)) await lose();
            return answer;
          };
          said.push(await press(1, given.invitations[at], { fetcher: losing }));
          clear();
        }
        let times = 0;
        const once = async (url, fields) => {
          if (!url.includes("/reports/")) return fetcher(url, fields);
          if (!times++) { await ahead(); return new Response(null, { status: 503 }); }
          return fetcher(url, fields);
        };
        said.push(await press(1, given.invitations[4], { fetcher: once }));
        return [said, times];
        """,
        invitations=[world.invitation() for _ in range(5)],
    )
    said, times = found
    # Of a card alone nothing is kept: the draw comes after it.
    assert said[0] == ""
    assert [one[: len(GONE)] for one in (said[1], said[3], said[4])] == [GONE] * 3
    assert "is not made anew. Nothing of this time was sent." in said[2]
    # The last one was on its way already when it was taken away.
    assert all("Nothing more is sent" in said[at] for at in (1, 3, 4))
    assert (times, len(recorder.bodies)) == (1, 1)


def test_marks_of_a_window_that_was_destroyed_stay_whoever_is_first() -> None:
    found = run(
        """
        const { outcomes } = smoothdp, of = (...numbers) => new Uint8Array(numbers);
        const rows = [];
        for (const sent of [false, true]) {
          for (let first = 0; first < 6; first++) {
            const place = { taskId: "task", window: 7, who: `${sent}${first}` };
            const row = { cardDigest: of(1), state: outcomes.FINAL, report: of(5) };
            await outcomes.keep(place, { row, signed: of(4) }, { most: 1 });
            if (sent) await outcomes.keepSent(place);
            const marked = outcomes.keepMarks(["task", 7, place.who], of(6));
            for (let turn = 0; turn < first; turn++) await new Promise(setImmediate);
            const destroyed = [1, 2].map(() => outcomes.keepDestroyed(place));
            await Promise.all([marked, ...destroyed]);
            rows.push(await outcomes.find(place));
          }
        }
        return rows.map(({ state, report, marks }) => [state, report ?? null, marks?.[0] ?? null]);
        """
    )
    assert len(found) == 12
    assert all(report is None and marks == 6 for _, report, marks in found), found


# ---- services that are slow, or answer something else


def test_a_service_that_falls_silent_is_not_waited_for(world: IssuingWorld) -> None:
    """Before its answer, in the middle of it, and in any of the three requests."""
    recorder = Recorder(world)
    found = page(
        world,
        recorder,
        """
        const wait = globalThis.setTimeout, stopped = [];
        let late;
        // Thirty seconds are over at once where a service is silent.
        globalThis.setTimeout = (work, time, ...more) => {
          if (time !== 30000) return wait(work, time, ...more);
          late = work;
        };
        const never = () => { setImmediate(() => late()); return new Promise(() => {}); };
        const stalls = () => new Response(new ReadableStream({
          start: (to) => to.enqueue(new Uint8Array(3)), pull: never }));
        const said = [];
        for (const which of ["/cards/", "/tokens/", "/reports/"]) {
          for (const silence of [never, stalls]) {
            const fetched = async (url, fields) => {
              if (!url.includes(which)) return fetcher(url, fields);
              fields.signal.addEventListener("abort", () => stopped.push(which));
              return silence();
            };
            const more = { fetcher: fetched, attempts: 2 };
            said.push(await press(1, given.invitations[0], more));
          }
        }
        said.push(await press(1));
        return [said, stopped.length];
        """,
    )
    assert all(one.startswith("The service does not answer. Press") for one in found[0][:6]), found
    assert (found[0][6], found[1]) == ("", 12)
    assert len(recorder.bodies) == 1


def test_each_request_is_plain(world: IssuingWorld) -> None:
    """No cookie, no referrer, no way round, and nothing of it kept by the browser."""
    fields = page(
        world,
        Recorder(world),
        """
        const seen = [];
        const looking = (url, fields) => { seen.push(fields); return fetcher(url, fields); };
        await press(1, given.invitations[0], { fetcher: looking });
        await smoothdp.ask("/x", undefined, { fetcher: (_, fields) => {
          seen.push(fields); return new Response(""); } });
        return seen.map(({ credentials, referrerPolicy, redirect, cache }) =>
          [credentials, referrerPolicy, redirect, cache]);
        """,
    )
    assert fields == [["omit", "no-referrer", "error", "no-store"]] * 4


def test_other_documents_and_lost_answers_are_said_in_words() -> None:
    found = run(
        """
        const { ask, documentOf } = smoothdp, said = [];
        const tried = (work) => work().then(() => "", (error) => error.message);
        for (const body of ["<!doctype html>", "{", "", "[1,"]) {
          const fetcher = async () => new Response(body);
          said.push(await tried(async () => documentOf(await ask("/x", {}, { fetcher }))));
        }
        const lost = async () => { throw new TypeError("Failed to fetch"); };
        said.push(await tried(() => ask("/x", {}, { fetcher: lost })));
        const bug = async () => { throw new RangeError("not a lost answer"); };
        said.push(await tried(() => ask("/x", {}, { fetcher: bug })));
        return said;
        """
    )
    assert all("something that this page does not understand" in one for one in found[:4]), found
    assert found[4] == "The service does not answer. Load this page again later."
    assert found[5] == "not a lost answer"


# ---- who somebody is, and how often they answer


def test_a_new_invitation_in_each_window_is_no_new_budget() -> None:
    """The analyser's side alone makes invitations: the pass of the other side counts too."""
    found = run(
        """
        const { outcomes, placeOf } = smoothdp, of = (...numbers) => new Uint8Array(numbers);
        const task = { proof: "slots" };
        const at = (window, invitation, pass) =>
          placeOf({ task, taskId: "task", window, invitation, pass });
        const draw = async (...where) => {
          const row = { cardDigest: of(1), state: outcomes.DRAWN, slots: of(2), seed: of(3) };
          const place = await at(...where);
          return outcomes.keep(place, { row, signed: of(4) }, { most: 2 })
            .then(() => "", (error) => error.message);
        };
        const said = [await draw(7, "a", "p"), await draw(8, "b", "P "), await draw(8, "c", "p")];
        said.push(await draw(9, "d", "p"), await draw(9, "a", "q"), await draw(9, "e", "q"));
        // Of a window that the shuffler destroyed nothing counts, under whichever invitation.
        const [first, later] = [await at(7, "a", "p"), await at(9, "d", "p")];
        await outcomes.keepReport(first, of(5));
        await outcomes.keepMarks(["task", 7, first.who], of(6));
        const before = await outcomes.answeredIn(later);
        await outcomes.keepDestroyed({ ...later, window: 7 });
        said.push(await draw(9, "d", "p"), await draw(10, "f", "p"));
        return [said, before, await outcomes.answeredIn({ ...later, window: 10 })];
        """
    )
    spent = "The budget of this poll pays for no more answers of one person"
    said = [one[: len(spent)] for one in found[0]]
    assert said == ["", "", "", spent, "", "", "", spent]
    assert found[1:] == [[7, 8], [8, 9]]


def test_two_tabs_at_once_find_the_room_of_one() -> None:
    found = run(
        """
        const { outcomes } = smoothdp, of = (...numbers) => new Uint8Array(numbers);
        const row = { cardDigest: of(1), state: outcomes.DRAWN, slots: of(2), seed: of(3) };
        const places = [7, 8, 9].flatMap((window) => ["a", "b"].map((who) =>
          ({ taskId: "task", window, who, pass: "p" })));
        const said = await Promise.all(places.map((place) =>
          outcomes.keep(place, { row, signed: of(4) }, { most: 2 })
            .then(() => "", (error) => error.message)));
        return [said, await outcomes.answeredIn({ ...places[0], window: 10 })];
        """
    )
    assert [bool(said) for said in found[0]] == [False] * 4 + [True] * 2
    assert found[1] == [7, 8]


def test_a_pass_is_not_sent_to_the_issuer_nor_what_is_no_secret_to_anybody() -> None:
    signed, alone = small_task(), small_task(issuer=None, proof="none")
    good, other = "0a" * 48, "0b" * 48
    cases = [
        (signed, good, other, ""),
        (signed, good.upper(), f" {other[:7]}\n{other[7:]}", ""),
        (signed, good, f" {good.upper()}", "Pass and invitation are the same here."),
        (signed, good, "", "That is no invitation"),
        (signed, good, other[1:], "That is no invitation"),
        (signed, good, other[:-1] + "\u0131", "That is no invitation"),
        (signed, "", other, "That is no pass"),
        (signed, good + "0", other, "That is no pass"),
        (alone, good, "", ""),
        (alone, "00", "", "That is no pass"),
    ]
    found = run(
        "return given.map(([task, pass, invitation]) => "
        "smoothdp.problemOf(JSON.parse(task), { pass, invitation }));",
        [(task.encoded.decode(), *secrets) for task, *secrets, _ in cases],
    )
    for (*_, wanted), said in zip(cases, found, strict=True):
        assert said.startswith(wanted), said
        assert bool(said) == bool(wanted)
        assert said == "" or said.endswith("Nothing was sent.")


# ---- terms, numbers, results


def test_terms_that_the_python_client_refuses_are_refused() -> None:
    """Those that a page can see: keys, who gives tokens, and where the invitation goes."""
    good = json.loads(small_task().encoded)
    issuer = good["issuer"]
    urls = ["https://i.example/x", "http://localhost:8", "http://127.0.0.1:8", "http://[::1]:8"]
    far = ["http://i.example", "http://127.0.0.1.example", "ftp://i.example", "i.example", "",
           "https://a:b@i.example", "http://localhost.example", "http://10.0.0.1"]  # fmt: skip
    changes = [
        *[({"issuer": issuer | {"url": url}}, True) for url in urls],
        *[({"issuer": issuer | {"url": url}}, False) for url in far],
        ({"issuer": None, "proof": "none"}, True),
        ({"issuer": None}, False),
        ({"proof": "none"}, False),
        ({"proof": "something"}, False),
        ({"shuffler_sign_key": good["analyzer_sign_key"]}, False),
        ({"issuer": issuer | {"sign_key": good["shuffler_sign_key"]}}, False),
    ]
    tasks = [json.dumps(good | change) for change, _ in changes]
    found = run(
        """
        const { readTask, sha256, toHex } = smoothdp, said = [];
        for (const words of given) {
          const encoded = new TextEncoder().encode(words);
          const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", encoded));
          said.push(await readTask(encoded, toHex(hash)).then(() => "", (error) => error.message));
        }
        return said;
        """,
        tasks,
    )
    assert [said == "" for said in found] == [right for _, right in changes]
    assert all(not said or "nothing was sent" in said for said in found)


def test_what_was_typed_is_not_repeated() -> None:
    found = run(
        """
        const task = JSON.parse(given);
        const tried = (datum) => { try { smoothdp.randomize(task, datum); return ""; }
          catch (error) { return error.message; } };
        return ["7 cigarettes", "1/0", "", "1e9999", "3.5"].map(tried);
        """,
        small_task("real_sum", size=3, bounds=("0", "10")).encoded.decode(),
    )
    assert all(said.startswith("That is not a number.") for said in found[:4]), found
    assert not any("cigarettes" in said or "9999" in said for said in found)
    assert found[4] == ""


def test_a_choice_that_is_named_as_what_objects_have_shows_0() -> None:
    names = ["constructor", "toString", "__proto__", "tea"]
    found = run(
        """
        const result = { counts: JSON.parse('{"tea": 3.5}'), error_of_all_counts: 1, users: 9 };
        return smoothdp.rowsOf({ domain: given }, result).map(({ label, value }) => [label, value]);
        """,
        names,
    )
    assert found == [[name, 3.5 if name == "tea" else 0] for name in names]


def test_evidence_that_is_missing_accuses_nobody() -> None:
    """A result without card or marks, a header of other parts, a file that is not shown."""
    task = small_task()
    digest, slots = b"d" * 32, [bytes([number]) * 52 for number in range(3)]
    file = MarksFile.of(digest, slots)
    report = Report(digest, tuple(slots[:2]), (bytes(256), bytes(256))).encode()

    def header(card: bytes = digest, parts: int = 1) -> str:
        hashes = (bytes(32),) * parts
        made = BatchHeader(True, card, bytes(16), 1, len(slots), hashes, file.sha256)
        return made.sign(SHUFFLER_SIGN).encode().hex()

    whole: dict[str, Any] = {
        "card_digest": digest.hex(),
        "marks_sha256": file.sha256.hex(),
        "batch_header": header(),
    }
    not_good = "What is published is not what both services signed."
    cases: list[tuple[dict[str, Any], bool, str]] = [
        (whole, True, Standing.INCLUDED),
        ({name: text.upper() for name, text in whole.items()}, True, Standing.INCLUDED),
        *[({k: v for k, v in whole.items() if k != name}, True, not_good) for name in whole],
        *[(whole | {name: bad}, True, not_good) for name in whole for bad in (None, 7, "x", "0")],
        (whole | {"batch_header": header(parts=2)}, True, not_good),
        (whole, False, "The first service does not show the marks of this time now"),
        (whole | {"batch_header": header(b"o" * 32)}, False, Standing.OTHER_CARD),
        (whole | {"marks_sha256": "00" * 32}, False, Standing.DENIED),
    ]
    found = run(
        """
        const { fromHex, lookUp } = smoothdp, task = JSON.parse(given.task), said = [];
        const [cardDigest, report] = [fromHex(given.digest), fromHex(given.report)];
        const row = { state: "sent", cardDigest, report };
        for (const [document, shown] of given.cases) {
          const file = shown ? fromHex(given.file) : null;
          said.push(await lookUp({ task }, row, document, file).catch((error) => error.message));
        }
        return said;
        """,
        {
            "task": task.encoded.decode(),
            "digest": digest.hex(),
            "report": report.hex(),
            "file": file.encode().hex(),
            "cases": [(document, shown) for document, shown, _ in cases],
        },
    )
    for (document, _, wanted), said in zip(cases, found, strict=True):
        assert said.startswith(wanted), (document, said)
