"""A shuffler's and an issuer's database from an older copy, beside keys from now, older or none."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from itertools import product
from pathlib import Path

import pytest

from smoothdp.errors import InvalidData, SmoothdpError
from smoothdp.services.shuffler.sealing import seal_due
from tests.services.storages import ONLY_SQLITE
from tests.services.worlds.answering_world import Answering
from tests.services.worlds.older_copies import DELETED, NOW, OLDER, copy_of, put_in_place
from tests.services.worlds.party_world import DAY, PartyWorld
from tests.services.worlds.small_tasks import small_task
from tests.services.worlds.whole_world import LOST, WINDOW, WholeWorld, weak_task


@ONLY_SQLITE
def test_an_older_copy_from_before_a_month_is_refused_beside_keys_that_were_made_anew(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """The threat model: "The shuffler's database from an older copy is refused beside its keys from
    now, if a window that is open in it was closed since".

    The window was closed a month ago, and the file of the keys was lost since, and made anew
    beside the database of that day: it noted the windows of the last 30 days alone.
    """
    world = WholeWorld(tmp_path, fast=True)
    world.open_window()
    for person in range(4):
        assert world.take_part(f"before {person}") == 202
    world.close()
    copy = copy_of(tmp_path, "shuffler.sqlite")
    world._open()
    assert world.take_part("one more") == 202
    assert world.end()["users"] == 5
    world.go_to(world.now + 31 * DAY)
    world.shuffler.forget_old()
    world.close()
    for lost in tmp_path.glob("gateway.sqlite*"):
        lost.unlink()
    world._open()
    world.close()
    put_in_place(tmp_path, "shuffler.sqlite", copy)
    with pytest.raises(InvalidData, match="it was closed since"):
        world._open()


@pytest.mark.parametrize("people_then", [0, 4])
@ONLY_SQLITE
def test_a_file_of_gateway_keys_that_is_made_anew_knows_the_windows_that_are_over(
    tmp_path: Path,
    people_then: int,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """The threat model: "The shuffler's database from an older copy is refused beside its keys
    from now"; also if the file of keys was lost after the window, and made anew.

    The shuffler hands over a second batch of the window, one person fewer, or says of a window
    that it handed over that it was destroyed: clients then count it no more.
    """
    world = WholeWorld(tmp_path, fast=True)
    world.open_window()
    for person in range(people_then):
        assert world.take_part(f"before {person}") == 202
    world.close()
    copy = copy_of(tmp_path, "shuffler.sqlite")
    world._open()
    for person in range(5):
        assert world.take_part(f"after {person}") == 202
    assert world.end()["state"] == "RELEASED"
    (first,) = world.shuffler.storage.read("SELECT batch_id, users FROM batch")
    world.close()
    for path in tmp_path.glob("gateway.sqlite*"):
        path.unlink()
    world._open()  # As after any loss of that file: nothing need be done.
    world.open_window(WINDOW + 3)
    world.close()
    put_in_place(tmp_path, "shuffler.sqlite", copy)
    try:
        world._open()
    except InvalidData:
        return
    world.seal()
    batches = world.shuffler.storage.read("SELECT batch_id, users FROM batch")
    destroyed = world.shuffler.is_expired(WINDOW)
    world.close()
    assert (batches, destroyed) in (([first], False), ([], False))


def older_copy(world: WholeWorld, people: list[str], after: list[str]) -> None:
    """Let people take part, copy the shuffler's database, go on; put the copy in its place.

    The file of its keys stays that of now: the window's key is erased in it.
    """
    for person in people:
        assert world.take_part(person) == 202
    with (
        closing(sqlite3.connect(world.folder / "shuffler.sqlite")) as now,
        closing(sqlite3.connect(world.folder / "copy")) as then,
    ):
        now.backup(then)
    for person in after:
        assert world.take_part(person) == 202
    assert world.end()["state"] == "RELEASED"
    assert world.shuffler.cards.kept() == [], "the key of the window is gone: it was sealed"
    world.close()
    for path in world.folder.glob("shuffler.sqlite*"):
        path.unlink()
    (world.folder / "copy").rename(world.folder / "shuffler.sqlite")
    (world.folder / "shuffler.sqlite").chmod(0o600)
    world._open()


@ONLY_SQLITE
def test_a_shuffler_on_an_older_copy_hands_over_no_second_batch_of_a_window(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """Of one person who came after the copy was made the two batches would differ by the slots
    alone: an analyser that has kept the window's key would read them without a single pass.
    """
    world = WholeWorld(tmp_path, fast=True)
    world.open_window()
    with pytest.raises(InvalidData, match="an older copy, in which window"):
        older_copy(world, [f"person {n}" for n in range(4)], ["late"])


@ONLY_SQLITE
def test_a_shuffler_on_an_older_copy_does_not_say_that_it_destroyed_what_it_handed_over(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """The copy is from before the first report: the window would be sealed again, with nobody, and
    410. Clients would count it no more then, and answer in one more than the budget pays for.
    """
    world = WholeWorld(tmp_path, fast=True)
    world.open_window()
    with pytest.raises(InvalidData, match="an older copy, in which window"):
        older_copy(world, [], [f"person {n}" for n in range(4)])


@ONLY_SQLITE
def test_a_shuffler_of_which_all_is_older_may_say_that_it_destroyed_what_it_handed_over(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """The threat model: "With its keys older or deleted too, a window that was handed over is
    handed over again, less what came since"; and "a client answers in no more windows than the
    budget pays for".

    If too few had come before the copy was made, it is not handed over again: it is said to be
    destroyed. The budget pays for one window, and the analyser has the answers of one person in
    two.
    """
    world = Answering(tmp_path, weak_task(windows=1), fast=True)
    world.open_window()
    assert [world.take_part(person) for person in "ab"] == [202] * 2
    world.close()
    copies = {name: copy_of(tmp_path, name) for name in ("shuffler", "gateway")}
    world._open()
    assert [world.take_part(person) for person in "cd"] == [202] * 2
    assert world.end()["users"] == 4
    world.close()
    for name, copy in copies.items():
        put_in_place(tmp_path, name, copy)
    world._open()
    # An analyser that makes cards for ever.
    world.analyzer.cards._pays = lambda *_: True  # type: ignore[method-assign]
    late = WINDOW + 3
    world.go_to(late * world.task.window_seconds + 5.0)
    world.open_window(late)
    world.client("a").settle()
    with pytest.raises(InvalidData, match="budget"):
        world.take_part("a", window=late)
    seal_due(world.shuffler)
    assert [world.take_part(person, window=late) for person in "abc"] == [202] * 3
    world.seal(late)
    world.deliver()
    assert world.analyzer.storage.read("SELECT count(*) FROM batch") == [(2,)]
    world.close()


@ONLY_SQLITE
@pytest.mark.slow
@pytest.mark.parametrize("days", [0, 31])
@pytest.mark.parametrize(("then", "after"), [(0, 4), (2, 0), (2, 4), (3, 0), (3, 4)])
def test_what_is_older_or_deleted_of_a_shuffler_in_each_combination(
    tmp_path: Path,
    then: int,
    after: int,
    days: int,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """The threat model: "The shuffler's database from an older copy is refused beside its keys from
    now, if a window that is open in it was closed since"; "with its keys older or deleted too, a
    window that was handed over is handed over again".

    Each file as it is, as it was in the open window, or gone, at once or after a month. Beside the
    keys from now no other batch of the window is offered, and nothing else is said of it.
    """
    task = weak_task(issuer=None, proof="none")
    world = PartyWorld(tmp_path, task)
    names = ("shuffler.sqlite", "gateway.sqlite")
    world.open_window()
    if then:
        world.send_many(then)
    world.close()
    copies = {OLDER: {name: copy_of(tmp_path, name) for name in names}, DELETED: {}}
    world._open()
    if after:
        world.send_many(after)
    world.seal()
    world.deliver()
    headers = {bytes(row[0]) for row in world.shuffler.storage.read("SELECT header FROM batch")}
    destroyed = world.shuffler.is_expired(WINDOW)
    assert destroyed is not bool(headers)
    world.go_to(world.now + days * DAY)
    world.shuffler.forget_old()
    world.close()
    copies[NOW] = {name: copy_of(tmp_path, name) for name in names}
    second = set()
    for combination in product((NOW, OLDER, DELETED), repeat=2):
        for name, which in zip(names, combination, strict=True):
            put_in_place(tmp_path, name, copies[which].get(name, {}))
        try:
            world._open()
        except SmoothdpError:
            assert combination == (OLDER, NOW)
            continue
        world.offers.clear()
        world.seal()
        world.shuffler.cards.note_over()
        try:
            world.deliver()
        except (SmoothdpError, OSError):
            assert OLDER in combination
        offered = {body for path, body in world.offers if path.count("/") == 3}
        said = world.shuffler.is_expired(WINDOW)
        if offered - headers or said > destroyed:
            second.add(combination)
        world.close()
    assert second == (set() if destroyed else {(OLDER, OLDER), (OLDER, DELETED)})


@ONLY_SQLITE
@pytest.mark.slow
@pytest.mark.parametrize("older", [False, True])
def test_an_issuer_on_an_older_copy_says_that_fewer_were_served(
    tmp_path: Path,
    older: bool,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """The threat model: "the analyser counts everybody who was served and is missing as honest. It
    releases a batch of u users only if u - floor(gamma X) of them keep the promise"; and of older
    copies "The issuer's file from an older copy gives a second draw".

    It also forgets whom it served since: of 20 accounts 14 sent, which is refused, as two of them
    may be false. The issuer's file is put back to before the six who sent nothing: X is 14, and
    the same batch is released.
    """
    world = WholeWorld(tmp_path, small_task(min_batch=14), fast=True)
    world.open_window()
    assert [world.take_part(f"person {number}") for number in range(14)] == [202] * 14
    world.close()
    copy = copy_of(tmp_path, "issuer.sqlite")
    world._open()
    for number in range(6):
        assert world.take_part(f"silent {number}", lose=("reports request",)) == LOST
    world.close()
    if older:
        put_in_place(tmp_path, "issuer.sqlite", copy)
    world._open()
    result = world.end()
    served = {True: ("RELEASED", 14), False: ("REFUSED", 20)}
    assert (result["state"], result["accounts_served"]) == served[older]
    world.close()
