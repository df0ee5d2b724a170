"""Two answers behind one pass at once, evidence of any shape, temporary files, shares in words."""

from __future__ import annotations

import json
import os
import re
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from smoothdp.errors import InvalidData
from smoothdp.services.client.inclusion import read_evidence
from smoothdp.services.client.outcomes import OutcomeStore
from tests.services.attacks.clients.test_page_figures import of_results
from tests.services.page.page_person import page
from tests.services.page.page_program import FOLDER, needs_node
from tests.services.worlds.issuing_world import WINDOW, IssuingWorld, Recorder
from tests.services.worlds.small_tasks import small_task


def _share_in_words(task: dict[str, Any]) -> Fraction:
    """Return the probability that the page tells people of their own dice."""
    words = (FOLDER / "src" / "page" / "words.js").as_uri()
    said = of_results(f"(await import({json.dumps(words)})).privacyWords({json.dumps(task)})[0][1]")
    found = re.search(r"probability ([0-9.]+)%", said)
    assert found, said
    return Fraction(found[1]) / 100


@needs_node
@pytest.mark.parametrize("protocol", ["boolean_sum", "real_sum"])
def test_the_page_says_of_no_answer_that_it_is_turned_over_more_often_than_it_is(
    protocol: str,
) -> None:
    """The page "randomises [...] (the same laws)" (poll); of a Boolean sum with epsilon 1 at delta
    1e-6 and smallest batches of 200 they turn over a share of 0.11993 (threats).

    Participants of such a task read "with probability 12%" (real sum: 26.3% of 26.27%), more noise
    than there is: beside it errors, epsilon and the share of followers go to the safe side.
    """
    more = {"size": 8, "bounds": ("0", "1")} if protocol == "real_sum" else {}
    task = small_task(protocol, epsilon="1", delta="1e-6", min_batch=200, **more)
    true = Fraction(int(task.noise), 2**64)
    said = _share_in_words(json.loads(task.encoded))
    assert said >= true * Fraction(99, 100)
    assert said <= true


@needs_node
@pytest.mark.parametrize("seed", range(3))
def test_two_invitations_at_once_behind_one_pass_are_no_two_reports(
    seed: int, tmp_path: Path
) -> None:
    """ "With one pass no second report leaves in a window, whatever invitation it is made with"
    (poll): also where both were drawn, in two tabs, before either has its tokens."""
    world = IssuingWorld(tmp_path, windows=1)
    world.open_window()
    try:
        recorder = Recorder(world)
        said = page(
            world,
            recorder,
            """
            let state = given.seed + 1;
            const below = (n) => {
              state = (state * 1103515245 + 12345) % 2 ** 31; return (state >> 8) % n; };
            const turns = (left, done) => (left ? setImmediate(turns, left - 1, done) : done());
            globalThis.atStep = () => new Promise((done) => turns(below(4), done));
            const both = () => Promise.all(
              [0, 1].map((i) => press(i, given.invitations[i], { attempts: 1 })));
            return [await both(), await both()].flat();
            """,
            seed=seed,
        )
        assert len({report.encode() for report in recorder.reports()}) <= 1
        assert any("another invitation" in words for words in said)
    finally:
        world.close()


@needs_node
def test_a_report_that_an_older_page_drew_is_the_one_behind_the_pass_it_is_sent_with(
    tmp_path: Path,
) -> None:
    """ "With one pass no second report leaves in a window, whatever invitation it is made with. An
    answer that an older page kept without a pass counts for everybody who uses the browser" (poll).

    The page was replaced by a newer one within a window. That one sends what is kept with the pass,
    and does not note the pass beside it: with another invitation it draws anew and sends a second
    report under the same pass. Who gives two invitations to people has two draws of each.
    """
    world = IssuingWorld(tmp_path, windows=1)
    world.open_window()
    try:
        recorder = Recorder(world, [503, 503])
        page(
            world,
            recorder,
            """
            const [lost, again] = given.invitations, said = [];
            said.push(await press(1, lost, { attempts: 1 }));
            // As the page of before kept it.
            for (const [key, { pass, ...older }] of stored.rows) stored.rows.set(key, older);
            said.push(await press(1, lost, { attempts: 1 }));
            said.push(await press(1, again, { attempts: 1 }));
            return said;
            """,
        )
        assert len(recorder.passes) == 1
        assert len({report.encode() for report in recorder.reports()}) == 1
    finally:
        world.close()


@pytest.mark.parametrize(
    "text",
    [
        "[" * 200_000,
        '{"window":' * 100_000,
        '{"task_id": 1e999999}',
        "\ud800",
        '{"window":' + "9" * 5000 + "}",
    ],
    ids=["lists", "objects", "infinite", "no text", "long number"],
)
def test_evidence_of_any_shape_is_refused_in_words(text: str) -> None:
    """ "A result with its signature" of whoever hands it on: refused before it is believed."""
    result = json.dumps({"result": text, "signature": "00" * 64}).encode()
    with pytest.raises(InvalidData):
        read_evidence(small_task(), WINDOW, result)


def test_what_is_rewritten_goes_through_no_temporary_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """ "Nor the seed any longer" (threats): rows are rewritten where a seed is erased, and what
    SQLite keeps of a statement that it may undo would go to a file that nobody overwrites."""
    monkeypatch.setenv("SQLITE_TMPDIR", str(tmp_path))
    store = OutcomeStore(tmp_path / "windows.sqlite")
    task = bytes(32)
    for window in range(40):
        values: dict[str, Any] = {"card_digest": task, "slots": os.urandom(52 * 128), "seed": task}
        assert store.keep(task, window, "me", most=99, **values) is not None
    opened = set[str]()
    change = store._storage._connection
    look_every = 50

    def look() -> int:
        for number in Path("/proc/self/fd").iterdir():
            try:
                opened.add(os.readlink(number))
            except OSError:
                continue
        return 0

    change.set_progress_handler(look, look_every)
    for window in range(3):
        store.keep_report(task, window, "me", os.urandom(35 + 128 * 308))
    change.set_progress_handler(None, 0)
    store.close()
    assert any(name.endswith("windows.sqlite") for name in opened)
    assert not [name for name in opened if "etilqs" in name]
