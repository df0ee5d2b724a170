"""Test 64: the ledger is charged before a result is out, once each, and is never overdrawn."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from smoothdp import ApproxDP, Ledger
from smoothdp.errors import LedgerError
from smoothdp.services.analyzer.analyzer import Analyzer
from smoothdp.services.analyzer.analyzer_tables import ANALYZER_SCHEMA
from smoothdp.services.analyzer.release import release_counted, work
from tests.services.storages import open_state
from tests.services.worlds.party_world import HOUR, WINDOW, PartyWorld
from tests.services.worlds.small_tasks import ANALYZER_SIGN, small_task


def collected(folder: Path, windows: int) -> PartyWorld:
    """Return parties that have handed over the batches of all windows that the budget pays."""
    world = PartyWorld(folder, small_task(issuer=None, proof="none", windows=windows))
    for window in range(WINDOW, WINDOW + windows):
        world.go_to(window * HOUR + 700.0)
        world.open_window(window)
        world.send_many(12, window=window)
        world.seal(window)
    world.deliver()
    return world


def test_64_many_workers_charge_and_release_once(tmp_path: Path) -> None:
    world = collected(tmp_path, 2)
    workers = [
        Analyzer(
            open_state(tmp_path, "analyzer", ANALYZER_SCHEMA),
            task=world.task,
            keys=world.keys[1],
            sign_key=ANALYZER_SIGN,
            ledgers=tmp_path,
            clocks=world.clocks[1],
        )
        for _ in range(8)
    ]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, workers))
    assert sum(release_counted(worker) for worker in workers) == 0
    assert world.charged() == [WINDOW, WINDOW + 1]
    for window in (WINDOW, WINDOW + 1):
        assert world.result(window)["state"] == "RELEASED"
    for worker in workers:
        worker.storage.close()
    world.close()


def test_64_a_result_names_its_charge(tmp_path: Path) -> None:
    world = collected(tmp_path, 2)
    work(world.analyzer)
    for run in range(2):
        charged = world.result(WINDOW + run)["charged"]
        assert charged["number"] == run + 1
        assert charged["spent"] == {"epsilon": ["4", "8"][run], "delta": ["1/100", "1/50"][run]}
        assert charged["budget"] == {"epsilon": "8", "delta": "1/50"}
    ledger = Ledger(world.analyzer.ledger.path)
    assert ledger.spent() == ApproxDP(8, delta="0.02")
    assert ledger.path.stat().st_mode & 0o077 == 0
    world.close()


def test_64_a_lost_ledger_stops_the_analyser(tmp_path: Path) -> None:
    world = collected(tmp_path, 1)
    work(world.analyzer)
    assert world.result()["state"] == "RELEASED"
    path = world.analyzer.ledger.path
    for file in tmp_path.glob(path.name + "*"):
        file.unlink()
    with pytest.raises(LedgerError, match="Restore the newest copy"):
        world.restart()
