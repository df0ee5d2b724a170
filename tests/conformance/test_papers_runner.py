"""The runner of the papers' computations: values, order, stores, interruptions, processes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from smoothdp.errors import InvalidParameter, OutOfReach
from smoothdp.papers.runner import run_cells

TESTS = Path(__file__).parents[2]


def square(cell: int) -> int:
    """Return the square; 13 is refused."""
    if cell == 13:
        raise ValueError("13")
    return cell**2


def logged(cell: tuple[str, int]) -> list[int]:
    """Write that the cell was computed, and by which process."""
    folder, number = cell
    with Path(folder, "log").open("a") as file:
        file.write(f"{number}\n")
    return [number, os.getpid()]


def ended(cell: int) -> int:
    """End the process of the second cell, as the system does for lack of memory."""
    if cell == 2:
        time.sleep(0.5)
        os._exit(1)
    return cell


def slow(cell: int) -> int:
    """Take a while, for a run to be interrupted."""
    time.sleep(0.05)
    return cell


def at_once(cell: int) -> int:
    """Compute what `slow` does, for a run that nobody interrupts."""
    return cell


def lines(folder: Path) -> list[str]:
    return (folder / "log").read_text().split()


def test_values_come_in_the_order_of_the_cells() -> None:
    cells = [5, 1, 4, 1, 3]
    assert run_cells("squares", cells, square, workers=1) == [25, 1, 16, 1, 9]


def test_no_cells() -> None:
    assert run_cells("none", [], square) == []


def test_other_processes_do_the_work_and_values_come_in_the_same_order(tmp_path: Path) -> None:
    cells = [5, 1, 4, 1, 3]
    found = run_cells("pids", [(str(tmp_path), n) for n in cells], logged, workers=2)
    assert [value[0] for value in found] == cells
    assert os.getpid() not in {value[1] for value in found}


def test_values_are_those_of_json_stored_or_not(tmp_path: Path) -> None:
    once = run_cells("float", [0.1], _pair, workers=1)
    stored = run_cells("float", [0.1], _pair, workers=1, store=tmp_path)
    again = run_cells("float", [0.1], _pair, workers=1, store=tmp_path)
    assert once == stored == again == [[0.1 / 3, float("inf")]]


def _pair(cell: float) -> tuple[float, float]:
    return cell / 3, float("inf")


def test_a_second_call_computes_nothing(tmp_path: Path) -> None:
    cells = [(str(tmp_path), n) for n in range(3)]
    first = run_cells("log", cells, logged, store=tmp_path / "store", workers=1)
    seen: list[tuple[int, int]] = []
    second = run_cells(
        "log",
        [*cells, (str(tmp_path), 3)],
        logged,
        store=tmp_path / "store",
        workers=1,
        progress=lambda done, total: seen.append((done, total)),
    )
    assert second[:3] == first
    assert lines(tmp_path) == ["0", "1", "2", "3"]
    assert seen == [(3, 4), (4, 4)]


def test_another_name_is_another_computation(tmp_path: Path) -> None:
    for name in ("one", "two/three"):
        run_cells(name, [(str(tmp_path), 1)], logged, store=tmp_path / "store", workers=1)
    assert lines(tmp_path) == ["1", "1"]


def test_what_was_done_before_a_failure_is_kept(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="13"):
        run_cells("squares", [2, 13, 3], square, store=tmp_path, workers=1)
    assert len((tmp_path / "squares.jsonl").read_text().split()) == 4  # "key": and "value": 2


def test_every_torn_end_of_the_file_is_survived(tmp_path: Path) -> None:
    """Cut the file anywhere: whole lines are used, the torn one is computed again."""
    work, file = tmp_path / "work", tmp_path / "store" / "log.jsonl"
    work.mkdir()
    cells = [(str(work), n) for n in range(2)]
    expected = run_cells("log", cells, logged, store=file.parent, workers=1)
    whole = file.read_bytes()
    second = whole.index(b"\n\n") + 1
    for cut in range(second, len(whole) + 1, 7):
        file.write_bytes(whole[:cut])
        (work / "log").write_text("")
        assert run_cells("log", cells, logged, store=file.parent, workers=1) == expected
        complete = cut >= len(whole) - 1
        assert lines(work) == ([] if complete else ["1"])
        # The file is whole again: a third run computes nothing.
        run_cells("log", cells, logged, store=file.parent, workers=1)
        assert len(lines(work)) == (0 if complete else 1)
    file.write_bytes(b'[1]\n{"key": 3}\nnoise\n\xff\n')
    assert run_cells("log", cells, logged, store=file.parent, workers=1) == expected


@pytest.mark.parametrize(
    ("sent", "workers"),
    [
        (signal.SIGKILL, 1),
        pytest.param(signal.SIGINT, 1, marks=pytest.mark.slow),
        (signal.SIGINT, 2),
        pytest.param(signal.SIGKILL, 2, marks=pytest.mark.slow),
    ],
)
def test_an_interrupted_run_resumes(tmp_path: Path, sent: signal.Signals, workers: int) -> None:
    """Stopped after a few of 100 cells, the run keeps them and the next one does the others."""
    # Whoever runs the tests in the background may have had the interrupt ignored.
    code = (
        "import signal\n"
        "from pathlib import Path\n"
        "from smoothdp.papers.runner import run_cells\n"
        "from tests.conformance.test_papers_runner import slow\n"
        "if __name__ == '__main__':\n"
        "    signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        f"    run_cells('slow', list(range(100)), slow, store=Path({str(tmp_path)!r}),"
        f" workers={workers})\n"
    )
    script = tmp_path / "script.py"
    script.write_text(code)
    process = subprocess.Popen(
        [sys.executable, str(script)],
        env={**os.environ, "PYTHONPATH": f"{TESTS}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"},
        stderr=subprocess.DEVNULL,
    )
    file = tmp_path / "slow.jsonl"
    deadline = time.monotonic() + 60
    while not file.exists() or file.read_bytes().count(b'"value"') < 5:
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.01)
    process.send_signal(sent)
    assert process.wait(timeout=60) != 0
    kept = file.read_bytes().count(b'"value"')
    assert 5 <= kept < 100
    seen: list[int] = []
    values = run_cells(
        "slow",
        list(range(100)),
        at_once,
        store=tmp_path,
        workers=1,
        progress=lambda done, _: seen.append(done),
    )
    assert values == list(range(100))
    assert seen[0] in (kept, kept - 1)
    entries = [json.loads(line) for line in file.read_text().splitlines() if line.strip()]
    assert sorted(entry["value"] for entry in entries) == list(range(100))


def test_a_process_that_is_ended_is_one_error(tmp_path: Path) -> None:
    with pytest.raises(OutOfReach, match="one that was ended"):
        run_cells("ended", [1, 2], ended, store=tmp_path, workers=2)


@pytest.mark.parametrize("workers", [0, -1, True])
def test_bad_workers(workers: int) -> None:
    with pytest.raises(InvalidParameter, match="workers >= 1"):
        run_cells("squares", [1], square, workers=workers)
