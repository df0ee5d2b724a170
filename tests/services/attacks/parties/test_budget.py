"""The budget of a task: for how many windows it pays, and what takes a place in it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from smoothdp.errors import BudgetExceeded
from smoothdp.services.analyzer.release import work
from smoothdp.services.analyzer.task_ledger import TaskLedger
from smoothdp.services.analyzer.window_cards import GATEWAY
from smoothdp.services.formats.design.budget import places_at_once, windows_paid
from smoothdp.services.shuffler.ingest import Taken
from smoothdp.services.shuffler.sealing import seal_due
from smoothdp.services.shuffler.shuffler import Shuffler
from tests.services.storages import ONLY_SQLITE
from tests.services.worlds.party_world import HOUR, PASS_KEY, WINDOW, PartyWorld
from tests.services.worlds.small_tasks import SHUFFLER_SIGN, open_task, small_task


def test_thirds_of_a_budget_pay_for_three_windows_and_no_fourth(tmp_path: Path) -> None:
    task = open_task(epsilon="13/3", delta="1/75", windows=3)
    world = PartyWorld(tmp_path, task)
    for window in range(WINDOW, WINDOW + 3):
        world.go_to(window * 3600 + 1200.0)
        world.open_window(window)
        world.send_many(12, window=window)
        assert world.finish(window=window)["state"] == "RELEASED"
    assert world.charged() == [WINDOW, WINDOW + 1, WINDOW + 2]
    key = world.shuffler.cards.offered_key(WINDOW + 3)
    assert world.analyzer.cards.put_key(GATEWAY, WINDOW + 3, key) == 404
    world.close()


@ONLY_SQLITE
@pytest.mark.parametrize(
    ("epsilon", "delta", "windows"),
    [
        ("12." + 9 * "0" + "1", "1/1", 3),
        ("11." + 50 * "9", "1", 2),
        ("1e300", "0.02" + 50 * "9", 2),
        ("4", "1", 1),
    ],
)
def test_the_ledger_takes_as_many_windows_as_clients_count(
    epsilon: str, delta: str, windows: int, tmp_path: Path
) -> None:
    task = replace(small_task(), budget_epsilon=epsilon, budget_delta=delta)
    ledger = TaskLedger(tmp_path, task)
    for window in range(windows_paid(task)):
        ledger.charge(window)
    with pytest.raises(BudgetExceeded):
        ledger.charge(windows)
    assert sorted(ledger.charged()) == list(range(windows))


def test_a_window_that_ends_just_now_still_counts_against_the_budget(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process charges and ends a window between two looks at what is spent."""
    world = PartyWorld(tmp_path, open_task(windows=1))
    world.open_window()
    world.send_many(12)
    world.seal()
    world.deliver()
    storage = world.analyzer.storage
    begin = storage.transaction

    def released_before() -> Any:
        monkeypatch.setattr(storage, "transaction", begin)
        work(world.analyzer)
        return begin()

    monkeypatch.setattr(storage, "transaction", released_before)
    key = world.shuffler.cards.offered_key(WINDOW + 1)
    assert world.analyzer.cards.put_key(GATEWAY, WINDOW + 1, key) == 404
    assert world.charged() == [WINDOW]
    assert world.analyzer.cards.shown(WINDOW + 1) is None
    world.close()


def test_a_task_with_another_budget_has_nobody(tmp_path: Path) -> None:
    """Its file edited, all passes and cards of before are of another task."""
    world, edited = PartyWorld(tmp_path, open_task()), open_task(windows=21)
    card = world.open_window()
    old = world.new_pass()
    shuffler = Shuffler(
        world.shuffler.storage,
        task=edited,
        keys=world.keys[0],
        sign_key=SHUFFLER_SIGN,
        pass_key=PASS_KEY,
        clocks=world.clocks[0],
    )
    assert world.shuffler.sender(old) is not None
    assert shuffler.sender(old) is None
    assert shuffler.takes(WINDOW) is Taken.UNKNOWN
    assert card.task_id == world.task.task_id != edited.task_id
    world.close()


@ONLY_SQLITE
def test_a_result_takes_a_place_for_good(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """The words were "With 11 places none waits": 11 are *left* until there are results."""
    day = 86_400
    options: dict[str, Any] = {"issuer": None, "proof": "none", "grace_seconds": HOUR}
    task = small_task(windows=11, window_seconds=day, **options)
    assert windows_paid(task) == places_at_once(task) == 11
    (words,) = [words for words in replace(task, budget_epsilon="40").advice if "none" in words]
    assert words.endswith("With 11 places left none waits; a result takes one.")
    world = PartyWorld(tmp_path, task)
    cards: set[int] = set()
    waited = []
    for window in range(WINDOW, WINDOW + 14):
        for hour in (0, 2):
            world.go_to(window * day + hour * HOUR + 1.0)
            seal_due(world.shuffler)
            world.deliver()
            work(world.analyzer)
            for ahead in sorted({window, window + 1, window + 2} - cards):
                key = world.shuffler.cards.offered_key(ahead)
                if world.analyzer.cards.put_key(GATEWAY, ahead, key) != 201:
                    break
                world.open_window(ahead)
                cards.add(ahead)
            if hour == 0 and window not in cards:
                waited.append(window)
        if window < WINDOW + 3:
            world.send_many(12, window=window)
    assert len(world.charged()) == 3
    # After three results eight are left.
    assert waited == [WINDOW + 11, WINDOW + 12, WINDOW + 13]
    world.close()
