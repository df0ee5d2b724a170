"""The poll page where two things happen at once: a late 202, another pass, a drip, no file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from smoothdp.errors import InvalidParameter
from smoothdp.services import take_part
from smoothdp.services.client.inclusion import Standing
from smoothdp.services.formats.batch import BatchHeader
from smoothdp.services.formats.marks import MarksFile
from tests.services.page.page_person import page
from tests.services.page.page_program import needs_node, run
from tests.services.worlds.issuing_world import IssuingWorld, Recorder
from tests.services.worlds.small_tasks import SHUFFLER_SIGN, small_task

pytestmark = needs_node


@pytest.fixture
def world(tmp_path: Path) -> Iterator[IssuingWorld]:
    made = IssuingWorld(tmp_path)
    made.open_window()
    yield made
    made.close()


SPENT = "The budget of this poll pays for no more answers of one person"
NO_ROOM = "The budget of this poll pays for no more answers with this link"
# Two people of whom each may have answered in two windows, and what is known of one pass.
STORE = """
const { outcomes, placeOf, toHex } = smoothdp, of = (...numbers) => new Uint8Array(numbers);
const at = (window, invitation, pass) =>
  placeOf({ task: { proof: "slots" }, taskId: "task", window, invitation, pass });
const draw = async (...where) => {
  const row = { cardDigest: of(1), state: outcomes.DRAWN, slots: of(2), seed: of(3) };
  return outcomes.keep(await at(...where), { row, signed: of(4) }, { most: 1 })
    .then(() => "", (error) => error.message);
};
"""


def test_a_pass_that_took_the_place_of_a_wrong_one_counts(world: IssuingWorld) -> None:
    """Drawn beside a pass that the shuffler does not know, sent with another: both count."""
    recorder = Recorder(world)
    found = page(
        world,
        recorder,
        """
        const { outcomes } = smoothdp, [right, wrong] = ["b".repeat(96), "a".repeat(96)];
        const [mine, fresh] = given.invitations;
        const refused = async (url, fields) => url.includes("/reports/")
          ? new Response(null, { status: 401 }) : fetcher(url, fields);
        const said = [await press(1, mine, { pass: wrong, fetcher: refused })];
        said.push(await press(1, mine, { pass: right }));
        const where = { task, taskId, window: given.window + 1, invitation: fresh };
        for (const pass of [right, wrong]) {
          const place = await smoothdp.placeOf({ ...where, pass });
          said.push(await outcomes.answeredIn(place));
        }
        return [said, given.window];
        """,
    )
    said, window = found
    assert said[0].startswith("Ask who runs the shuffler for a pass")
    assert said[1:] == ["", [window], [window]]


def test_a_pass_without_room_does_not_send_what_was_drawn_beside_another() -> None:
    """Else a new invitation and a pass that is none, in each window, would be a new budget."""
    found = run(
        STORE
        + """
        const said = [await draw(7, "a", "p"), await draw(8, "b", "p"), await draw(8, "b", "none")];
        for (const [invitation, pass] of [["b", "p"], ["b", "none"], ["b", "q"]]) {
          said.push(await outcomes.keepPass(await at(8, invitation, pass), 1)
            .then(() => "", (error) => error.message));
        }
        said.push(await draw(9, "c", "q"), await draw(9, "c", "r"));
        return said.map((one) => one.slice(0, given.length));
        """,
        SPENT,
    )
    assert found == ["", SPENT, "", NO_ROOM[: len(SPENT)], "", "", SPENT, ""]


def test_rows_of_a_page_that_kept_no_pass_count_for_everybody() -> None:
    """Whose they are is not known: what was seen of somebody is counted rather twice."""
    found = run(
        STORE
        + """
        await draw(7, "a", "p");
        const { who } = await at(7, "a", "p"), key = JSON.stringify(["task", 7, who]);
        const { pass, ...older } = stored.rows.get(key);
        stored.rows.set(key, older);
        const said = [await draw(8, "b", "p"), await draw(7, "b", "p")];
        // As the page before this one kept it; this one keeps the same, if there is one pass.
        stored.rows.set(key, { ...older, pass });
        said.push(typeof pass, await outcomes.answeredIn(await at(8, "c", "p")));
        return [...said, await outcomes.answeredIn(await at(8, "c", "q"))];
        """
    )
    assert found[0].startswith(SPENT)
    assert found[1:] == ["", "string", [7], []]


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


@pytest.mark.parametrize("which", ["/cards/", "/tokens/"])
def test_a_service_that_drips_is_not_heard_for_ever(world: IssuingWorld, which: str) -> None:
    """A byte before each time that is waited for: the whole of an answer has a time too."""
    found = page(
        world,
        Recorder(world),
        """
        const wait = globalThis.setTimeout, times = [];
        let all;
        globalThis.setTimeout = (work, time, ...more) => {
          if (time < 30000) return wait(work, time, ...more);
          times.push(time);
          if (time > 60000) all = work;
        };
        let bytes = 0;
        const drips = () => new Response(new ReadableStream({ pull: (to) => {
          if (++bytes === 9) all?.();
          if (bytes > 40) throw new Error("heard for too long");
          to.enqueue(new Uint8Array(1));
          return new Promise((done) => setImmediate(done));
        } }));
        const fetched = async (url, fields) =>
          url.includes(given.which) ? drips() : fetcher(url, fields);
        const said = await press(1, given.invitations[0], { fetcher: fetched, attempts: 1 });
        return [said, Math.max(...times)];
        """,
        which=which,
    )
    said, longest = found
    assert said.startswith("The service does not answer. Press"), said
    assert 60_000 < longest < 63_000


def test_a_silent_shuffler_is_asked_once_what_it_destroyed() -> None:
    """Half a minute for each window of the budget would be a quarter of an hour for 30."""
    task = small_task(windows=30)
    found = run(
        """
        const { outcomes, placeOf, submit } = smoothdp;
        const of = (...numbers) => new Uint8Array(numbers);
        const task = JSON.parse(given), taskId = "task", asked = [];
        const who = { task, taskId, pass: "a".repeat(96), invitation: "b".repeat(96) };
        for (let window = 100; window < 130; window++) {
          const row = { cardDigest: of(1), state: outcomes.DRAWN, slots: of(2), seed: of(3) };
          const place = await placeOf({ ...who, window });
          await outcomes.keep(place, { row, signed: of(4) }, { most: 30 });
          await outcomes.keepReport(place, of(5));
          await outcomes.keepMarks([taskId, window, place.who], of(6));
        }
        const fetcher = async (url, { method }) => {
          asked.push(method ?? "GET");
          throw new TypeError("Failed to fetch");
        };
        const seconds = () => 130 * task.window_seconds;
        await submit({ ...who, datum: 1, window: 130, fetcher, attempts: 1, seconds })
          .catch(() => {});
        return asked;
        """,
        task.encoded.decode(),
    )
    assert found == ["HEAD", "GET"]


def test_a_browser_that_goes_on_to_another_poll_keeps_no_report_and_no_seed(
    world: IssuingWorld,
) -> None:
    """They stayed for ever, if the page of the first poll was never loaded again."""
    found = page(
        world,
        Recorder(world),
        """
        const silent = async (url, fields) => {
          if (url.includes("/tokens/")) throw new TypeError("Failed to fetch");
          return fetcher(url, fields);
        };
        await press(1);
        await press(1, given.invitations[1], { fetcher: silent, attempts: 1 });
        const end = (given.window + 1) * task.window_seconds + task.grace_seconds;
        const other = { task: { ...task, window_seconds: 7 * 86400 }, taskId: "other" };
        const kept = [];
        for (const now of [end - 1, end]) {
          await smoothdp.settle({ ...other, seconds: now });
          kept.push([...stored.rows.values()].map((row) =>
            [row.state, Object.keys(row).filter((name) =>
              ["report", "slots", "seed"].includes(name)).length, row.marks?.length ?? 0]));
        }
        return kept;
        """,
    )
    slots = world.task.slots
    assert found[0] == [["sent", 1, 0], ["drawn", 2, 0]]
    assert found[1] == [["marks", 0, 16 * slots], ["missed", 0, 0]]


def test_one_address_for_both_services_is_refused() -> None:
    """Who serves the page would be given the invitation beside the pass."""
    found = run(
        """
        const { readTask, toHex } = smoothdp, encoded = new TextEncoder().encode(given);
        const hash = toHex(new Uint8Array(await crypto.subtle.digest("SHA-256", encoded)));
        const said = [];
        for (const origin of ["https://issuer.example", "https://poll.example"]) {
          said.push(await readTask(encoded, hash, { origin }).then(() => "", (e) => e.message));
        }
        return said;
        """,
        small_task().encoded.decode(),
    )
    assert found[0].startswith("Both services of this poll have one address: nothing was sent")
    assert found[1] == ""


def test_one_address_spelt_twice_is_one() -> None:
    """In capitals, with the port that goes without saying, or with a point of the root."""
    task = small_task()
    assert task.issuer is not None
    secrets = {"pass_secret": "0a" * 48, "invitation": "0b" * 48}
    for address in (
        "HTTPS://Issuer.Example",
        "https://issuer.example:443/",
        "https://issuer.example.",
    ):
        with pytest.raises(InvalidParameter, match="one for both"):
            take_part(task, 1, shuffler=address, **secrets)
