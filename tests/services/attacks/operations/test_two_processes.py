"""Several processes of one party, and several people in one group of requests."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from smoothdp.services.analyzer.release import work
from smoothdp.services.analyzer.window_cards import GATEWAY, ISSUER
from smoothdp.services.formats import batch as batches
from smoothdp.services.issuer.window_keys import close_windows
from smoothdp.services.shuffler.sealing import seal_due
from smoothdp.services.store.group_commit import GroupCommit
from smoothdp.services.store.storage import StorageFull
from tests.services.storages import ONLY_SQLITE
from tests.services.worlds.party_world import ENOUGH, WINDOW, PartyWorld, issuer_key
from tests.services.worlds.whole_world import WholeWorld


def test_a_process_whose_batch_another_one_hands_over_meanwhile_goes_on(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """The guide: "whatever the number of processes". The parts of a batch go with the word of the
    analyser; a process that was between two of them failed with an IndexError, "other" in the log.
    """
    monkeypatch.setattr(batches, "PART_RECORDS", 4)
    met: list[str] = []

    def reach(point: str) -> None:
        if point == "deliver: between parts" and not met:
            met.append(point)
            assert world.deliver() == 1

    world = PartyWorld(tmp_path, reach=reach)
    world.open_window()
    world.send_many(ENOUGH)
    world.seal()
    assert world.deliver() == 1
    assert met
    work(world.analyzer)
    assert world.tell_served(ENOUGH) == 201
    work(world.analyzer)
    assert world.result()["users"] == ENOUGH
    world.close()


@pytest.mark.parametrize("when", ["names are looked up", "it is checked"])
def test_a_card_that_another_process_signs_meanwhile_is_no_fault_of_the_analyser(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    when: str,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """The guide: "whatever the number of processes". Whoever came second was told of a card that
    "was lost here", or that is signed already, and to ask who runs the analyser.
    """
    world = PartyWorld(tmp_path)
    cards, keys = world.shuffler.cards, world.analyzer.cards
    keys.put_key(GATEWAY, WINDOW, cards.offered_key(WINDOW))
    keys.put_key(ISSUER, WINDOW, issuer_key().public.spki)
    offered = keys.shown(WINDOW)
    assert offered is not None
    first: list[bytes] = []
    where: object = cards._keys if when == "names are looked up" else cards
    name = "notes" if when == "names are looked up" else "offered_key"
    asked = getattr(where, name)

    def meanwhile(*args: object) -> object:
        monkeypatch.setattr(where, name, asked)
        first.append(cards.sign(WINDOW, offered))
        return asked(*args)

    monkeypatch.setattr(where, name, meanwhile)
    assert cards.sign(WINDOW, offered) == first[0]
    assert len(first) == 1
    world.close()


@ONLY_SQLITE
@pytest.mark.parametrize(
    "at",
    [
        "issue: after commit",
        "ingest: after commit",
        "seal: after commit",
        "close: after commit",
        "served: before it is kept as told",
        "deliver: between parts",
        "deliver: before acknowledgement",
        "purge: after commit",
        "release: after commit",
    ],
)
def test_another_process_of_each_party_has_whole_rounds_within_a_step_of_the_first(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
    at: str,
) -> None:
    """A window is released once and charged once, with each person once."""
    met: list[str] = []

    def reach(point: str) -> None:
        if point == at:
            met.append(point)
            other.go_to(first.now)
            other.clocks[-1].heard(first.now)
            seal_due(other.shuffler)
            close_windows(other.issuer)
            other.tell()
            other.deliver()
            work(other.analyzer)

    with ExitStack() as stack:
        first = WholeWorld(tmp_path, reach=reach, fast=True)
        stack.callback(first.close)
        other = WholeWorld(tmp_path, fast=True)
        stack.callback(other.close)
        first.open_window()
        assert [first.take_part(person) for person in "abcd"] == [202] * 4
        result = first.end()
        assert met
        assert (result["state"], result["users"], result["accounts_served"]) == ("RELEASED", 4, 4)
        assert other.result() == result
        assert first.charged() == [WINDOW]
        assert first.shuffler.cards.kept() == []


@ONLY_SQLITE
def test_what_becomes_of_a_group_is_told_to_its_own_members_alone(storage_kind: str) -> None:  # noqa: ARG001
    """Errors, people who went away, a service that stops: nobody is told what is not so."""
    stored: list[int] = []
    errors: list[Exception | None] = [StorageFull("disk"), ValueError("secret words"), None]
    enter, leave = threading.Event(), threading.Event()

    def store(group: Sequence[int]) -> list[str]:
        enter.set()
        leave.wait(5)
        if errors and (error := errors.pop(0)) is not None:
            raise error
        stored.extend(group)
        return [f"stored {item}" for item in group]

    async def run() -> list[Any]:
        commit = GroupCommit[int, str](store, "later")
        commit.start()

        async def group(*items: int, gone: int | None = None) -> list[Any]:
            enter.clear()
            leave.clear()
            first = asyncio.create_task(commit.submit(-1))
            await asyncio.to_thread(enter.wait, 5)
            tasks = {item: asyncio.create_task(commit.submit(item)) for item in items}
            await asyncio.sleep(0.01)
            if gone is not None:
                tasks[gone].cancel()
            leave.set()
            return await asyncio.gather(first, *tasks.values(), return_exceptions=True)

        found = [await group(1), await group(2, 3, gone=2), await group(4, 5)]
        enter.clear()
        leave.clear()
        last = asyncio.create_task(commit.submit(6))
        await asyncio.to_thread(enter.wait, 5)
        late = asyncio.create_task(commit.submit(7))
        await asyncio.sleep(0.01)
        await commit.stop()
        leave.set()
        found.append([await last, await late])
        return found

    full, failed, good, stopped = asyncio.run(run())
    # The first of the first group met the full disk, the one after it the other error.
    assert full[0] == "later"
    assert (type(full[1]), str(full[1])) == (RuntimeError, "ValueError")
    assert failed[0] == "stored -1"
    assert isinstance(failed[1], asyncio.CancelledError)
    assert failed[2] == "stored 3"
    assert good == ["stored -1", "stored 4", "stored 5"]
    # 503 says nothing of what is on disk: who comes again is told as before.
    assert stopped == ["later", "later"]
    assert 7 not in stored
    assert 1 not in stored
