"""A service that is silent for good: what the other keeps, and how long a place is kept."""

from __future__ import annotations

from pathlib import Path

import pytest

from smoothdp.services.analyzer.release import work
from smoothdp.services.formats.secrets import tag
from smoothdp.services.formats.slots import open_slot
from smoothdp.services.issuer.window_keys import close_windows
from smoothdp.services.shuffler.sealing import seal_due
from tests.services.storages import ONLY_SQLITE
from tests.services.worlds.page_of_threats import PAGE, on_the_page
from tests.services.worlds.party_world import DAY, HOUR, WINDOW
from tests.services.worlds.whole_world import WholeWorld, weak_task

ANSWERS = {"first": 1, "second": 0, "third": 1}


def silent(world: WholeWorld, days: int) -> None:
    """Let days pass in which the shuffler tells no time; the analyser and the issuer do all."""
    world.now += days * DAY
    # The analyser holds, and so tells the issuer no time either.
    close_windows(world.issuer)
    work(world.analyzer)


@ONLY_SQLITE
@pytest.mark.parametrize("tells_its_time", [True, False])
def test_a_shuffler_that_tells_no_time_has_the_key_of_a_window_kept_for_who_comes_years_later(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
    tells_its_time: bool,
) -> None:
    """Somebody who gets the analyser's disk a year later opens, with the shuffler's reports, what
    each device sent. If the shuffler tells its time the key is gone after 7 days.
    """
    assert on_the_page("tell no time for good: the other, and the issuer,")
    world = WholeWorld(tmp_path, weak_task(), fast=True)
    world.open_window()
    for person, datum in ANSWERS.items():
        assert world.take_part(person, datum) == 202
    reports = {person: world.report_of(person) for person in ANSWERS}
    card = world.card(WINDOW)
    if tells_its_time:
        world.go_to(world.now + 8 * DAY)
        world.clocks[-1].heard(world.now)
        close_windows(world.issuer)
        work(world.analyzer)
        assert world.analyzer.cards.inner_key(WINDOW) is None
        assert not world.issuer.storage.read("SELECT account_tag FROM issued")
    else:
        for _ in range(5):
            silent(world, 73)
        key = world.analyzer.cards.inner_key(WINDOW)
        assert key is not None
        for report in reports.values():
            assert all(open_slot(slot, card, key) in (0, 1) for slot in report.slots)
        # Nor are the accounts of the issuer gone, nor its keys.
        assert len(world.issuer.storage.read("SELECT account_tag FROM issued")) == len(ANSWERS)
    world.close()


@ONLY_SQLITE
@pytest.mark.parametrize("tells_its_time", [True, False])
def test_a_window_without_a_result_keeps_its_place_for_seven_days(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
    tells_its_time: bool,
) -> None:
    """If the shuffler tells no time either, until it is heard again."""
    assert on_the_page("for 7 days, and until the two services hear each other after that")
    world = WholeWorld(tmp_path, weak_task(windows=1), fast=True)
    world.open_window()
    for person, datum in ANSWERS.items():
        assert world.take_part(person, datum) == 202
    if tells_its_time:
        world.go_to(float((WINDOW + 2) * HOUR + 8 * DAY))
        work(world.analyzer)
    else:
        silent(world, 8)
    assert bool(world.analyzer.cards.going_on()) == (not tells_its_time)
    world.go_to(world.now)
    work(world.analyzer)
    assert world.analyzer.cards.going_on() == []
    world.close()


@ONLY_SQLITE
def test_an_analyser_that_tells_no_time_has_the_shuffler_keep_who_sent_which_slots(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """A year later the shuffler's disk has all reports, under tags whose key is beside them."""
    world = WholeWorld(tmp_path, weak_task(), fast=True)
    world.open_window()
    for person, datum in ANSWERS.items():
        assert world.take_part(person, datum) == 202
    world.now += 365 * DAY
    assert seal_due(world.shuffler) == []
    world.shuffler.forget_old()
    rows = world.shuffler.storage.read(
        "SELECT p.slots, c.tag_key FROM pending p JOIN collecting c ON c.window = p.window"
    )
    assert len(rows) == len(ANSWERS)
    assert all(tag_key is not None for _, tag_key in rows)
    assert WINDOW in world.shuffler.cards.kept()
    world.close()


@ONLY_SQLITE
def test_an_issuer_that_hears_no_time_keeps_for_good_who_was_served(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """Somebody cuts it off from the analyser, which has erased its key. A year later its disk tells
    of each invitation whether its owner was served then.
    """
    assert on_the_page("and the issuer, also where it alone is cut off, erases nothing")
    world = WholeWorld(tmp_path, weak_task(), fast=True)
    world.open_window()
    for person in ("first", "second", "third"):
        assert world.take_part(person, 1) == 202
    world.seal()
    world.deliver()
    work(world.analyzer)
    for _ in range(5):
        world.go_to(world.now + 73 * DAY)
        # What `go_to` told the issuer is taken back: it was cut off.
        world.clocks[-1]._heard = None
        close_windows(world.issuer)
        work(world.analyzer)
    assert world.analyzer.cards.inner_key(WINDOW) is None
    ((secret, tag_key),) = world.issuer.storage.read(
        "SELECT secret, tag_key FROM window_key WHERE window = ?", (WINDOW,)
    )
    assert secret is not None
    rows = {bytes(row[0]) for row in world.issuer.storage.read("SELECT account_tag FROM issued")}

    def was_served(person: str) -> bool:
        identity = bytes.fromhex(world.invitation_of(person))[:16]
        return tag(bytes(tag_key), identity) in rows

    assert [was_served(person) for person in ("first", "second", "third", "nobody")] == [
        *[True] * 3,
        False,
    ]
    world.close()


def test_the_guide_has_directories_overwritten_in_which_nothing_was_erased() -> None:
    text = (PAGE.parent / "how-to" / "run-services.md").read_text(encoding="utf-8")
    section = text.split("## End a task")[1].split("\n## ")[0]
    assert "**overwrite** the directories that are left" in section
    assert "shred" in section
