"""Timing one call: the best of several batches, so that a busy machine disturbs least."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from benchmarks.kept import MEASURED

_SORTING: dict[str, float] = {}


class Row(NamedTuple):
    """One line of the table: what, measured seconds, what it is set against, and whose it is."""

    what: str
    seconds: float
    reach: str
    is_ours: bool = True


def best_time(
    call: Callable[[], object], *, calls: int, batches: int = 7, warm: bool = True
) -> float:
    """Return processor seconds per call: the least of several batches, after one to warm up."""
    if warm:
        call()
    times = []
    for _ in range(batches):
        start = time.process_time()
        for _ in range(calls):
            call()
        times.append((time.process_time() - start) / calls)
    return min(times)


def sorting() -> Row:
    """Return the yardstick of most tables: numpy.sort of a million doubles, measured now."""
    numbers = np.random.default_rng(1).random(10**6)
    return Row("numpy.sort of 1e6 doubles", best_time(lambda: np.sort(numbers), calls=3), "", False)


def measured_seconds(table: str, row: str, seconds: float) -> None:
    """Take a time of ours whose table has no yardstick: sorting, measured once for the table."""
    if table not in _SORTING:
        _SORTING[table] = sorting().seconds
    MEASURED.add(table, row, _SORTING[table] / seconds)


def show(title: str, rows: list[Row]) -> None:
    """Print the rows, and each time as a ratio to the first row's; ratios of ours are compared."""
    print(f"\n{title}")
    for row in rows[1:]:
        if row.is_ours != rows[0].is_ours:
            ours, other = (row, rows[0]) if row.is_ours else (rows[0], row)
            MEASURED.add(title, row.what, other.seconds / ours.seconds)
    for row in rows:
        ratio = row.seconds / rows[0].seconds
        print(f"  {row.what:<58} {row.seconds * 1e3:>10.3f} ms  x{ratio:<9.3g} {row.reach}")


def peak_megabytes(code: str) -> float:
    """Return the most memory that a fresh Python process takes for some code.

    ru_maxrss of a child begins at the size of its parent on Linux, so /proc is asked first.
    """
    ask = (
        "\nimport re, resource\n"
        "try:\n"
        "    text = open('/proc/self/status').read()\n"
        "    print(int(re.search(r'VmHWM:\\s*(\\d+)', text).group(1)))\n"
        "except OSError:\n"
        "    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code + ask], capture_output=True, text=True, check=True
    )
    return int(done.stdout.split()[-1]) / 1024
