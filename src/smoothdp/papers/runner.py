"""Many small computations on all cores, each kept when it finishes, resumed after a stop."""

from __future__ import annotations

import hashlib
import json
import multiprocessing
import os
import re
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any, TypeVar

from smoothdp.claims.release import library_version
from smoothdp.errors import InvalidParameter, OutOfReach
from smoothdp.papers.reproduction import Progress

Cell = TypeVar("Cell")


def run_cells(
    name: str,
    cells: Sequence[Cell],
    work: Callable[[Cell], Any],
    *,
    store: Path | None = None,
    progress: Progress | None = None,
    workers: int | None = None,
) -> list[Any]:
    """Return ``work(cell)`` for every cell, in the order of the cells.

    The work runs in new processes (as many as there are cores), or in this one with
    ``workers=1``. With ``store`` every finished cell is appended to a file of that folder and
    not computed again: not after an interruption, nor by a second call.

    Args:
        name: of the computation; cells of another name are never taken for these.
        cells: each picklable and of the types of JSON.
        work: a function at the top level of a module, whose value is of the types of JSON. The
            value must depend on the cell alone: a random study takes its seed from the cell.
        store: a folder, made if need be.
        progress: called with (cells done, cells in all), also for cells of the store.
        workers: how many processes; all cores by default.

    Returns:
        The values as JSON gives them back (tuples become lists), stored or not.

    Raises:
        InvalidParameter: workers below 1.
        OutOfReach: a process was ended from outside.

    >>> run_cells("squares", [1, 2, 3], lambda cell: cell**2, workers=1)
    [1, 4, 9]
    """
    if workers is not None and (isinstance(workers, bool) or workers < 1):
        raise InvalidParameter(
            expected="workers >= 1",
            got=f"{workers!r}",
            remedy="Leave workers out to use all cores",
        )
    keys = [_key(name, cell) for cell in cells]
    stored = _Kept(store, name)
    # A cell that occurs twice is computed once.
    missing = {key: cell for key, cell in zip(keys, cells, strict=True) if key not in stored.values}
    total, n_done = len(set(keys)), len(set(keys)) - len(missing)
    if progress is not None and n_done:
        progress(n_done, total)
    for key, value in _evaluate(missing, work, workers or _cores()):
        stored.add(key, value)
        n_done += 1
        if progress is not None:
            progress(n_done, total)
    return [stored.values[key] for key in keys]


def _evaluate(
    cells: dict[str, Cell], work: Callable[[Cell], Any], workers: int
) -> Iterator[tuple[str, Any]]:
    """Yield (key, value) as the cells finish."""
    if workers == 1 or len(cells) < 2:
        for key, cell in cells.items():
            yield key, work(cell)
        return
    # A fresh process each: a fork of threads that hold locks may hang.
    with ProcessPoolExecutor(
        min(workers, len(cells)),
        mp_context=multiprocessing.get_context("spawn"),
        initializer=_prepare,
    ) as executor:
        futures = {executor.submit(work, cell): key for key, cell in cells.items()}
        try:
            for future in as_completed(futures):
                yield futures[future], future.result()
        except BrokenProcessPool:
            raise OutOfReach(
                expected="processes that live until their work is done",
                got="one that was ended, by lack of memory perhaps",
                remedy="Run again: what a store has kept is not computed anew",
            ) from None
        finally:
            executor.shutdown(cancel_futures=True)


def _prepare() -> None:
    """Let a worker stop at once on Ctrl-C, and never outlive the process that started it."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    threading.Thread(target=_leave_with_parent, daemon=True).start()


def _leave_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _key(name: str, cell: object) -> str:
    text = json.dumps([name, library_version(), cell], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


class _Kept:
    """Values by key, in memory and, with a folder, in a file of one JSON object a line."""

    def __init__(self, folder: Path | None, name: str) -> None:
        self.values: dict[str, Any] = {}
        self._path: Path | None = None
        if folder is None:
            return
        folder.mkdir(parents=True, exist_ok=True)
        self._path = folder / f"{re.sub(r'[^A-Za-z0-9.-]', '-', name)}.jsonl"
        if self._path.exists():
            for line in self._path.read_bytes().split(b"\n"):
                # A line cut off by a crash is no JSON object: its cell is computed again.
                try:
                    entry = json.loads(line)
                    self.values[entry["key"]] = entry["value"]
                except (ValueError, TypeError, KeyError):
                    continue

    def add(self, key: str, value: object) -> None:
        """Keep a value; a line on disk that is not whole is ignored."""
        text = json.dumps({"key": key, "value": value})
        self.values[key] = json.loads(text)["value"]
        if self._path is None:
            return
        # The leading line end sets the line apart from a torn one before it.
        line = b"\n" + text.encode() + b"\n"
        file = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        try:
            os.write(file, line)
            os.fsync(file)
        finally:
            os.close(file)
