"""Timing one call: the best of several batches, so that a busy machine disturbs least."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from typing import NamedTuple


class Row(NamedTuple):
    """One line of the table: what, measured seconds, and what it is set against."""

    what: str
    seconds: float
    reach: str


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


def show(title: str, rows: list[Row]) -> None:
    """Print the rows, and each time as a ratio to the first row's."""
    print(f"\n{title}")
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
