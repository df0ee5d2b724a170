"""A process killed at any moment of a charge leaves no release uncharged, nothing half charged."""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import pytest

from smoothdp.claims import PureDP
from smoothdp.errors import BudgetExceeded
from smoothdp.ledger import Ledger
from tests.oracles import ledger_kills as kills

BEFORE_COMMIT = kills.STEPS[:6]


def new_ledger(folder: Path, budget: str = "1") -> tuple[Path, Path]:
    path = folder / "ledger.db"
    Ledger(path, budget=PureDP(budget))
    return path, folder / "released"


def killed(
    path: Path,
    released: Path,
    plan: Callable[[], None],
    act_of: Callable[[Path, Path], None] = kills.charge_and_release,
) -> tuple[int, int, int]:
    """Kill one charge; return its signal, the new entries and the new releases."""
    before, lines = len(Ledger(path).entries()), _lines(released)

    def act() -> None:
        plan()
        act_of(path, released)

    ended = kills.in_child(act)
    ledger = Ledger(path)
    number = ledger.verify()
    assert _lines(released) <= number
    added, out = number - before, _lines(released) - lines
    assert 0 <= out <= added <= 1
    return ended, added, out


def _lines(path: Path) -> int:
    return len(path.read_text().splitlines()) if path.exists() else 0


@pytest.mark.parametrize("step", kills.STEPS)
def test_killed_at_a_named_step(tmp_path: Path, step: str) -> None:
    path, released = new_ledger(tmp_path)
    Ledger(path).charge(PureDP("0.5"))
    ended, added, out = killed(path, released, lambda: kills.kill_at_step(step))
    assert ended == signal.SIGKILL
    assert added == (0 if step in BEFORE_COMMIT else 1)
    assert out == (1 if step == "while releasing" else 0)
    # The next charge goes through, and the sum is that of the entries.
    Ledger(path).charge(PureDP("0.25"))
    assert Ledger(path).verify() == added + 2


@pytest.mark.parametrize("count", [0, 40, 80, 120])
def test_killed_at_an_instruction(tmp_path: Path, count: int) -> None:
    path, released = new_ledger(tmp_path)
    ended, _, _ = killed(path, released, lambda: kills.kill_at_instruction(count))
    assert ended == signal.SIGKILL


def test_killed_while_it_is_made(tmp_path: Path) -> None:
    for count in range(0, 400, 16):
        path = tmp_path / f"{count}.db"

        def act(path: Path = path, count: int = count) -> None:
            kills.kill_at_instruction(count)
            Ledger(path, budget=PureDP(1))

        kills.in_child(act)
        ledger = Ledger(path, budget=PureDP(1))
        ledger.charge(PureDP("0.5"))
        assert ledger.verify() == 1


def new_table_ledger(folder: Path) -> tuple[Path, Path]:
    path = folder / "table.db"
    Ledger(path, budget=PureDP(100, neighbours="add_remove"))
    return path, folder / "tables"


def check_table_entries(path: Path) -> None:
    """Every entry is a whole table: one charge of its guarantee, whatever the number of groups."""
    entries = Ledger(path).entries()
    promise = PureDP("0.01", neighbours="add_remove")
    assert all(entry.guarantee == promise for entry in entries)
    assert all(entry.parameters["label"] == "a table" for entry in entries)
    assert Ledger(path).spent() == PureDP(len(entries) * Fraction(1, 100), neighbours="add_remove")


@pytest.mark.parametrize("step", ["after BEGIN", "after INSERT", "after COMMIT", "while releasing"])
def test_a_table_killed_at_a_named_step_is_one_entry_or_none(tmp_path: Path, step: str) -> None:
    path, released = new_table_ledger(tmp_path)
    kills.charge_and_release_table(path, released)
    ended, added, out = killed(
        path, released, lambda: kills.kill_at_step(step), kills.charge_and_release_table
    )
    assert ended == signal.SIGKILL
    assert added == (0 if step in BEFORE_COMMIT else 1)
    assert out == (1 if step == "while releasing" else 0)
    kills.charge_and_release_table(path, released)
    assert Ledger(path).verify() == added + 2
    check_table_entries(path)


@pytest.mark.slow
def test_tables_killed_at_every_tenth_instruction(tmp_path: Path) -> None:
    path, released = new_table_ledger(tmp_path)
    n_killed = 0
    for count in range(0, 6000, 10):
        ended, added, out = killed(
            path,
            released,
            lambda c=count: kills.kill_at_instruction(c),  # type: ignore[misc]
            kills.charge_and_release_table,
        )
        check_table_entries(path)
        if ended == 0:
            assert (added, out) == (1, 1)
            break
        n_killed += 1
    else:
        pytest.fail("a table takes more instructions than that")
    assert n_killed >= 10


@pytest.mark.slow
def test_tables_killed_at_random_times(tmp_path: Path) -> None:
    path, released = new_table_ledger(tmp_path)
    draw = random.Random(11)
    start = time.perf_counter()
    kills.charge_and_release_table(path, released)
    usual = time.perf_counter() - start
    for _ in range(100):
        child = kills.fork()
        if child == 0:
            try:
                while True:
                    kills.charge_and_release_table(path, released)
            finally:
                os._exit(3)
        time.sleep(draw.uniform(0.0, 3 * usual))
        os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        assert os.WIFSIGNALED(status)
        assert Ledger(path).verify() >= _lines(released)
    check_table_entries(path)
    assert Ledger(path).verify() - _lines(released) <= 100


@pytest.mark.slow
def test_killed_at_every_instruction(tmp_path: Path) -> None:
    path, released = new_ledger(tmp_path)
    n_killed = both = 0
    for count in range(3000):
        ended, added, out = killed(path, released, lambda c=count: kills.kill_at_instruction(c))  # type: ignore[misc]
        if ended == 0:
            assert (added, out) == (1, 1)
            break
        n_killed += 1
        both += added
    else:
        pytest.fail("a charge takes more instructions than that")
    assert n_killed >= 100
    assert both >= 1


@pytest.mark.slow
def test_killed_at_random_times(tmp_path: Path) -> None:
    path, released = new_ledger(tmp_path, "100")
    draw = random.Random(10)
    n_killed = 0
    start = time.perf_counter()
    for _ in range(10):
        kills.charge_and_release(path, released)
    usual = (time.perf_counter() - start) / 10
    for _ in range(200):
        child = kills.fork()
        if child == 0:
            try:
                while True:
                    kills.charge_and_release(path, released)
            finally:
                os._exit(3)
        time.sleep(draw.uniform(0.0, 5 * usual))
        os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        n_killed += os.WIFSIGNALED(status)
        assert Ledger(path).verify() >= _lines(released)
    assert n_killed == 200
    # Each kill costs at most the one charge that it hit.
    assert Ledger(path).verify() - _lines(released) <= 200
    assert _lines(released) > 30


def _spend_all(path: Path, released: Path, processes: int) -> None:
    children = []
    for _ in range(processes):
        child = kills.fork()
        if child == 0:
            try:
                while True:
                    kills.charge_and_release(path, released)
            except BudgetExceeded:
                os._exit(0)
            except BaseException:
                os._exit(3)
        children.append(child)
    for child in children:
        _, status = os.waitpid(child, 0)
        assert os.WIFEXITED(status)
        assert os.WEXITSTATUS(status) == 0


def test_eight_processes_never_pass_the_budget(tmp_path: Path) -> None:
    path, released = new_ledger(tmp_path, "0.2")
    _spend_all(path, released, 8)
    ledger = Ledger(path)
    assert ledger.verify() == 200
    # Every charge was used once, by one process.
    assert sorted(int(line) for line in released.read_text().split()) == list(range(1, 201))
    assert ledger.left() == PureDP(0)


def test_eight_processes_make_one_ledger(tmp_path: Path) -> None:
    path = tmp_path / "new.db"
    children = []
    for _ in range(8):
        child = kills.fork()
        if child == 0:
            try:
                Ledger(path, budget=PureDP(1)).charge(PureDP("0.125"))
                os._exit(0)
            except BaseException:
                os._exit(3)
        children.append(child)
    assert [os.waitpid(child, 0)[1] for child in children] == [0] * 8
    assert Ledger(path).verify() == 8
