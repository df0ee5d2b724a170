"""Tasks of one window and of seconds, an end that was told, and what a check says of a copy."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack, suppress
from functools import partial
from itertools import product
from pathlib import Path
from random import Random

import pytest

from smoothdp.errors import InvalidData
from smoothdp.services.analyzer.analyzer_tables import MADE, SIGNED
from smoothdp.services.analyzer.release import work
from smoothdp.services.formats.design.budget import windows_paid
from smoothdp.services.issuer.window_keys import close_windows
from smoothdp.services.shuffler.sealing import seal_due, seal_window
from smoothdp.services.shuffler.shuffler_party import ShufflerParty
from tests.services.attacks.operations.test_processes_of_a_party import Faults, hand_over
from tests.services.storages import ONLY_SQLITE
from tests.services.worlds.checked import what_is_wrong
from tests.services.worlds.older_copies import back_up, copy_of, put_in_place, restore
from tests.services.worlds.party_world import DAY, HOUR, PartyWorld
from tests.services.worlds.small_tasks import open_task
from tests.services.worlds.three_parties import WINDOW, Parties
from tests.services.worlds.whole_world import WholeWorld, weak_task


@ONLY_SQLITE
@pytest.mark.parametrize("erased", [True, False])
def test_a_check_sees_an_older_copy_that_a_start_refuses(
    tmp_path: Path,
    erased: bool,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """The guide: "`serve check` says in words [...] whether the directory is fit"; the threats:
    "The shuffler's database from an older copy is refused beside its keys from now, if a window
    that is open in it was closed since".

    The machine stops after it was told that the window is over, and before its key is erased (the
    next windows are sealed first). The database is damaged by that, and put back from a copy. Once
    the key is erased its absence shows.
    """
    directory, copy = tmp_path / "shuffler", tmp_path / "copy"
    with ExitStack() as stack:
        parties = Parties(tmp_path, stack, windows=1)
        for _ in range(2):
            parties.round()
        back_up(directory, copy, "shuffler.sqlite")
        before = what_is_wrong(directory)
        seal_window(parties.shuffler.shuffler, WINDOW)
        assert parties.shuffler.shuffler.is_expired(WINDOW)
        if erased:
            parties.shuffler.shuffler.erase_closed()
    restore(copy, directory)
    (directory / "shuffler.sqlite").chmod(0o600)
    with pytest.raises(InvalidData, match="an older copy"):
        ShufflerParty.from_directory(directory)
    assert what_is_wrong(directory).keys() - before.keys()


def places(world: WholeWorld) -> int:
    """Return how many places of the budget are charged, or kept by cards that have not ended."""
    rows = world.analyzer.storage.read(
        "SELECT window FROM card WHERE state IN (?, ?)", (MADE, SIGNED)
    )
    return len({int(window) for (window,) in rows} | set(world.charged()))


@ONLY_SQLITE
@pytest.mark.parametrize("seed", range(2))
def test_tasks_of_seconds_and_few_windows_in_any_order_with_faults(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    seed: int,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """The protocol, 4: "windows charged + cards made and not ended [...] < windows paid"; 7:
    "RELEASED, REFUSED, QUARANTINED are final"; the guide: "what was acknowledged is on disk".

    Windows of one second without grace, budgets of one or two of them, two processes of each party.
    """
    chance = Random(seed)
    task = weak_task(window_seconds=1, grace_seconds=0, windows=chance.choice((1, 2)))
    first, other = (WholeWorld(tmp_path, task, fast=True) for _ in range(2))
    worlds = (first, other)
    faults = Faults(chance, monkeypatch)
    start = int(first.now)
    told: dict[int, set[str]] = {start + i: set() for i in range(4)}
    ends: dict[int, dict[str, object]] = {}
    steps: list[Callable[[WholeWorld], object]] = [
        lambda world: seal_due(world.shuffler),
        lambda world: close_windows(world.issuer),
        lambda world: world.tell(),
        hand_over,
        lambda world: work(world.analyzer),
        lambda world: world.shuffler.forget_old(),
    ]

    def go_to(now: float) -> None:
        for world in worlds:
            world.go_to(now)

    def look() -> None:
        assert places(first) <= windows_paid(task)
        for world, window in product(worlds, told):
            with suppress(InvalidData):
                said = world.result(window)
                if "users" in said or "reason" in said:
                    assert ends.setdefault(window, said) == said

    for window in told:
        go_to(window + 0.25)
        for _ in range(3):
            faults.within(partial(chance.choice(worlds).open_window, window))
        for person in "abcde":
            world = chance.choice(worlds)
            take = partial(world.take_part, person, window=window)
            if world.shuffler.cards.stored(window) is not None and faults.within(take) == 202:
                told[window].add(person)
            if chance.random() < 0.3:
                faults.within(partial(chance.choice(steps), chance.choice(worlds)))
        look()
        go_to(window + 1.0)
        for _ in range(chance.randrange(12)):
            faults.within(partial(chance.choice(steps), chance.choice(worlds)))
            if chance.random() < 0.1:
                chance.choice(worlds).restart()
        look()
    for _ in range(3):
        for world, step in product(worlds, steps):
            step(world)
        look()
    for window, people in told.items():
        said = first.result(window)
        if first.shuffler.is_expired(window):
            assert len(people) < task.min_batch
            assert said["state"] == "no batch"
        elif first.shuffler.cards.stored(window) is not None:
            assert said["state"] == "RELEASED"
            assert len(people) <= said["users"] <= said["accounts_served"] <= 5
    assert sorted(set(first.charged())) == first.charged()
    assert first.shuffler.cards.kept() == []
    go_to(start + 8 * DAY)
    for world, step in product(worlds, steps):
        step(world)
    look()
    assert first.keys[1].scopes() == []
    for world in worlds:
        world.close()


@ONLY_SQLITE
@pytest.mark.parametrize("file", ["gateway.sqlite", "inner.sqlite"])
def test_a_file_of_keys_that_is_found_again_after_a_start_without_it(
    tmp_path: Path,
    file: str,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """The guide, of a file of window keys that is not there: "find it, with its log, and start
    again; what comes in these windows is lost without it"; the protocol, 2: "Keys of one window are
    made once and never again".

    A party starts without it, makes another one, and has a window with it. Then the first is back.
    """
    world = PartyWorld(tmp_path, open_task())
    world.open_window()
    world.send_many(13)
    world.close()
    found = copy_of(tmp_path, file)
    put_in_place(tmp_path, file, {})
    world._open()
    world.open_window(WINDOW + 1)
    world.go_to((WINDOW + 1) * HOUR + 1.0)
    world.send_many(13, window=WINDOW + 1)
    card = world.shuffler.cards.stored(WINDOW + 1)
    world.close()
    put_in_place(tmp_path, file, found)
    world._open()
    lost = [*world.shuffler.cards.lost(), *world.analyzer.cards.lost()]
    assert lost == [WINDOW + 1]
    assert world.finish()["state"] == "RELEASED"
    world.finish(window=WINDOW + 1)
    assert world.shuffler.cards.stored(WINDOW + 1) == card
    world.go_to(world.now + 9 * DAY)
    work(world.analyzer)
    # Sealing needs no key of the shuffler's: what was acknowledged is counted all the same.
    last = "RELEASED" if file == "gateway.sqlite" else "REFUSED"
    assert world.result(WINDOW + 1)["state"] == last
    assert world.charged() == [WINDOW, WINDOW + 1][: 2 if last == "RELEASED" else 1]
    assert [keys.scopes() for keys in world.keys] == [[], []]
    world.close()
