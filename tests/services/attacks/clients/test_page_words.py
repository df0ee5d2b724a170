"""What the poll page says of answers, windows and what its noise is."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from smoothdp.services.client.inclusion import Standing, look_up
from smoothdp.services.client.outcomes import ANSWERED, Kept
from smoothdp.services.formats.batch import BatchHeader
from smoothdp.services.formats.marks import MarksFile
from smoothdp.services.formats.result import SignedResult
from smoothdp.services.shuffler.published_results import PublishedResults, publish
from tests.services.page.page_person import page
from tests.services.page.page_program import needs_node, run
from tests.services.worlds.issuing_world import HOUR, WINDOW, IssuingWorld, Recorder
from tests.services.worlds.page_store import STORE
from tests.services.worlds.small_tasks import ANALYZER_SIGN, SHUFFLER_SIGN, small_task


@needs_node
def test_a_word_of_the_shuffler_that_comes_after_the_end_is_its_word() -> None:
    """While the report is on its way its time passes, and marks take its place."""
    found = run(
        STORE
        + """
        const place = await at(7, "a", "p"), other = await at(7, "b", "q");
        const states = [];
        for (const [one, report, marks] of [[place, of(5), of(6)], [other, of(7), of(8)]]) {
          await draw(7, one === place ? "a" : "b", one === place ? "p" : "q");
          await outcomes.keepReport(one, report);
          await outcomes.keepMarks(["task", 7, one.who], marks);
        }
        await outcomes.keepSent(place);
        for (const one of [place, other]) {
          const { state, marks } = await outcomes.find(one);
          states.push([state, toHex(marks)]);
        }
        return states;
        """
    )
    assert found == [["marks", "06"], ["marks of a report without an answer", "08"]]


@needs_node
def test_the_page_does_not_say_that_nothing_was_sent_of_a_report_that_arrived(
    quick_world: IssuingWorld,
) -> None:
    """The clock of the device was ahead for a while: the answer was accepted before."""
    shuffler = Recorder(quick_world)
    said = page(
        quick_world,
        shuffler,
        """
        const first = await press(1);
        await smoothdp.settle({ task, taskId, seconds: given.now + 3 * 3600 });
        return [first, await press(1), hex(stored.rows)[0].state];
        """,
    )
    assert len(shuffler.bodies) == 1
    assert (said[0], said[2]) == ("", "marks")
    assert "Nothing of this time was sent" not in said[1]


@needs_node
def test_the_page_does_not_say_that_nothing_was_sent_when_a_pass_has_no_room(
    quick_world: IssuingWorld,
) -> None:
    """The report left with the pass of before, and its answer was lost."""
    shuffler = Recorder(quick_world, [503])
    said = page(
        quick_world,
        shuffler,
        """
        const { outcomes } = smoothdp;
        const first = { pass: "a".repeat(96), attempts: 1 }, other = { pass: "b".repeat(96) };
        await press(1, given.invitations[0], first);
        const pass = await outcomes.nameOf(other.pass), marks = new Uint8Array(16);
        for (let at = 0; at < 40; at++) {
          stored.rows.set(JSON.stringify([taskId, 10 + at, "x"]), { state: "marks", pass, marks });
        }
        return press(1, given.invitations[0], other);
        """,
    )
    assert len(shuffler.bodies) == 1
    assert "The budget of this poll pays for no more answers" in said
    assert "nothing of this time was sent" not in said


@needs_node
def test_a_time_in_which_the_issuer_was_away_is_no_answer_to_the_page(tmp_path: Path) -> None:
    """As with the command: "no more answers of one person than were given here", which is one."""
    world = IssuingWorld(tmp_path, windows=2)
    try:
        for window in (WINDOW, WINDOW + 1, WINDOW + 2):
            world.open_window(window)
        shuffler = Recorder(world)
        said = page(
            world,
            shuffler,
            """
            const broken = async (url, fields) =>
              url.includes("/tokens/") ? new Response(null, { status: 503 }) : fetcher(url, fields);
            const said = [await press(1)], [mine] = given.invitations;
            now = (given.window + 1) * 3600 + 3000;
            const next = { window: given.window + 1, fetcher: broken, attempts: 1 };
            said.push(await press(1, mine, next));
            now = (given.window + 2) * 3600 + 305;
            said.push(await press(1, mine, { window: given.window + 2 }));
            return said;
            """,
        )
        assert said[0] == ""
        assert "does not answer" in said[1]
        assert len(shuffler.bodies) == 1
        assert "than were given here" not in said[2]
    finally:
        world.close()


@needs_node
def test_a_batch_of_a_destroyed_window_is_said_without_its_marks() -> None:
    """Who said that there is no batch shows no file of it either."""
    task, digest = small_task(), b"d" * 32
    slots = [bytes([number]) * 52 for number in range(2)]
    file = MarksFile.of(digest, slots)
    made = BatchHeader(True, digest, bytes(16), 1, len(slots), (bytes(32),), file.sha256)
    found = run(
        """
        const { fromHex, lookUp, outcomes } = smoothdp, task = JSON.parse(given.task);
        const cardDigest = fromHex(given.document.card_digest), marks = new Uint8Array(32);
        const row = { state: outcomes.DESTROYED, cardDigest, marks };
        const said = [];
        for (const file of [null, new Uint8Array(3)]) {
          said.push(await lookUp({ task }, row, given.document, file).catch((e) => e.message));
        }
        return said;
        """,
        {
            "task": task.encoded.decode(),
            "document": {
                "card_digest": digest.hex(),
                "marks_sha256": file.sha256.hex(),
                "batch_header": made.sign(SHUFFLER_SIGN).encode().hex(),
            },
        },
    )
    assert found == [Standing.DESTROYED] * 2


PAGE = """
const { outcomes, fromHex } = smoothdp, own = setTimeout;
const element = () => ({
  style: {}, value: "", textContent: "", append() {}, replaceChildren() {}, setAttribute() {},
  addEventListener() {}, reset() {}, tBodies: [{ replaceChildren() {} }],
});
const elements = {};
const place = { taskId: given.taskId, window: given.window, who: "a" };
const cardDigest = fromHex(given.digest);
await outcomes.keep(place, {
  row: { state: outcomes.FINAL, cardDigest, report: new Uint8Array(1) }, signed: new Uint8Array(1),
}, { most: 9 });
await outcomes.keepMarks([place.taskId, place.window, place.who], new Uint8Array(16));
if (given.destroyed) await outcomes.keepDestroyed(place);
globalThis.document = {
  getElementById: (id) => (elements[id] ??= element()),
  createElement: element, createElementNS: element,
};
globalThis.location = { pathname: `/poll/${given.taskId}`, hash: "#" + "0a".repeat(48) };
globalThis.addEventListener = () => {};
Date.now = () => 1000 * given.now;
globalThis.fetch = async (url) => {
  if (url.includes("/marks/")) return new Response(new Uint8Array(given.bytes));
  if (url.endsWith("/about")) return new Response(JSON.stringify({ question: "Tea?" }));
  if (url.endsWith("/results")) return new Response(JSON.stringify([given.result]));
  return new Response(given.task);
};
load();
for (let i = 0; i < 500 && !elements.standing?.textContent; i++) {
  await new Promise((done) => own(done, 10));
}
return elements.standing?.textContent ?? "nothing";
"""


@needs_node
@pytest.mark.parametrize("lie", [Standing.DENIED, Standing.OTHER_CARD, Standing.DESTROYED])
@pytest.mark.parametrize("more", [0, 1 << 17])
def test_marks_of_any_length_hide_no_lie_from_the_page(lie: Standing, more: int) -> None:
    """The three lies that the signed result alone shows were hidden by a file that is too long."""
    task, digest = small_task(), b"d" * 32
    file = MarksFile.of(digest, [bytes([number]) * 52 for number in range(20)])
    header = BatchHeader(True, digest, bytes(16), 20, 20, (bytes(32),), file.sha256)
    document = {
        "task_id": task.task_id.hex(),
        "window": WINDOW,
        "users": 20,
        "sum": 10.0,
        "error_of_sum": 1.0,
        "error_fails_with_probability": "0.05",
        "sentence": "Good.",
        "epsilon_of_this_batch": 1.0,
        "card_digest": (bytes(32) if lie is Standing.OTHER_CARD else digest).hex(),
        "marks_sha256": (bytes(32) if lie is Standing.DENIED else file.sha256).hex(),
        "batch_header": header.sign(SHUFFLER_SIGN).encode().hex(),
    }
    said = run(
        PAGE,
        {
            "task": task.encoded.decode(),
            "taskId": task.task_id.hex(),
            "window": WINDOW,
            "now": (WINDOW + 2) * HOUR,
            "digest": digest.hex(),
            "destroyed": lie is Standing.DESTROYED,
            "bytes": len(file.encode()) + more,
            "result": json.loads(SignedResult.sign(document, ANALYZER_SIGN).encode()),
        },
    )
    assert said == lie


def test_the_page_is_shown_nothing_of_a_window_that_was_refused(tmp_path: Path) -> None:
    """ "Each window with a result", "not ... one that was refused": that is for `look-up`."""
    task = small_task()
    digest = b"d" * 32
    file = MarksFile.of(digest, [bytes(52)])
    header = BatchHeader(True, digest, bytes(16), 1, 1, (bytes(32),), file.sha256)
    evidence = {
        "task_id": task.task_id.hex(),
        "window": WINDOW,
        "card_digest": digest.hex(),
        "marks_sha256": file.sha256.hex(),
        "batch_header": header.sign(SHUFFLER_SIGN).encode().hex(),
    }
    refused = evidence | {"state": "REFUSED", "reason": "too few of those who were served"}
    result = SignedResult.sign(refused, ANALYZER_SIGN)
    publish(tmp_path, result)
    assert PublishedResults(tmp_path, task).document() == b"[]"
    kept = Kept(digest, b"", b"", b"", b"m" * 16, ANSWERED)
    said = look_up(task, WINDOW, kept, result=result.encode(), marks=file.encode())
    assert said is Standing.LEFT_OUT


def _words(tasks: list[str]) -> list[dict[str, str]]:
    found = run("return given.map((task) => smoothdp.privacyWords(JSON.parse(task)));", tasks)
    return [dict(words) for words in found]


@needs_node
def test_the_page_says_no_smaller_share_of_followers_than_the_promise_needs() -> None:
    """ "At most the share gamma ... are false": the page said "at least 1%" where all must follow.

    Zeros before the point were cut off with those after it, and shares were rounded down.
    """
    needed = {"1": "100%", "0.9996": "99.96%", "0.9994": "99.94%", "2/3": "66.67%", "0.9": "90%"}
    tasks = [small_task(honest_share=share, min_batch=4000) for share in needed]
    said = _words([task.encoded.decode() for task in tasks])
    for share, words in zip(needed.values(), said, strict=True):
        promise = words["What the published result tells about you"]
        assert f"at least {share} of the participants follow the rules" in promise


@needs_node
def test_the_page_says_that_nearly_every_choice_is_made_up_where_it_is() -> None:
    """ "The page says so", of its noise: of choices added with probability .9998 it said 1%."""
    task = small_task("histogram", size=3, min_batch=16)
    document = json.loads(task.encoded) | {"noise": "0.0002"}
    (words,) = _words([json.dumps(document)])
    assert "added with probability 99.98%" in words["What happens on your device"]
