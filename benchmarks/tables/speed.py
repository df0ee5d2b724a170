"""Processor times where n is private: one statistic of 1e6 rows, and a table of 1e7 rows."""

from __future__ import annotations

import subprocess
import sys
from fractions import Fraction

import numpy as np

from benchmarks.accuracy.cells import SEED
from benchmarks.accuracy.ratios import Targets
from benchmarks.timing import best_time, measured_seconds
from smoothdp.queries.private_size.padded_window import PaddedWindow
from smoothdp.types import FloatArray

_SETTINGS = (
    ("1/2", "10", "1/10"),
    ("1/2", "100", "1/100"),
    ("1/2", "1000", "1/1000"),
    ("9/10", "10", "1/10"),
    ("9/10", "100", "1/100"),
    ("9/10", "1000", "1/1000"),
)
"""Level, window and smoothing: those of the rule for pure DP with epsilon 1, .1 and .01."""
_REACH = {"1/2": 5.0, "9/10": 30.0}

LARGE_TABLE = """
import resource, time
import numpy as np
from smoothdp.claims import PureDP
from smoothdp.queries import Median, Quantile
from smoothdp.tables.release_table import release_table

def peak():
    import re
    try:
        return int(re.search(r"VmHWM:\\s*(\\d+)", open("/proc/self/status").read()).group(1))
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

rng = np.random.default_rng(1)
data = {"key": rng.integers(0, GROUPS, ROWS).astype(np.int32), "x": rng.lognormal(6, 0.7, ROWS)}
before, start, clock = peak(), time.process_time(), time.perf_counter()
release_table(
    data, by="key", keys=list(range(GROUPS)), counts=True,
    statistics={
        "median": ("x", Median((0, 20000))), "90%": ("x", Quantile("0.9", bounds=(0, 20000)))
    },
    guarantee=PureDP(1, neighbours="add_remove"),
)
print(time.process_time() - start, time.perf_counter() - clock, before / 1024, peak() / 1024)
"""


def show_speed(full: bool, targets: Targets) -> None:
    """Print the times; all of them in either run."""
    del full
    n = 10**6
    x = np.random.default_rng(SEED).lognormal(3, 1, n)
    print(f"\nA quantile and its smooth sensitivity, n private, {n:,} rows; selection:")
    print("  numpy.partition of a copy at the ends of the same ranges")
    for level, width, smoothing in _SETTINGS:
        whole, selection = beyond_selection(x, level, width, smoothing)
        name = f"q = {float(Fraction(level)):g}, w = {width}, t = {float(Fraction(smoothing)):g}"
        beyond = (whole - selection) * 1e3
        print(
            f"  {name:<40}{whole * 1e3:>8.1f} ms, selection {selection * 1e3:.1f} ms, "
            f"beyond {beyond:.1f} ms"
        )
        measured_seconds("A quantile of 1e6 rows, n private", name, whole)
        judged = "all" if Fraction(smoothing) >= Fraction(1, 100) else "reported"
        text = f"ms beyond selection, 1e6 rows, q = {float(Fraction(level)):g}, t >= .01"
        if judged == "reported":
            text = "the same, t = .001"
        targets.row(text, _REACH[level], at_most=True, judged=judged).add(name, beyond)
    large_table(10**7, 1000)


def beyond_selection(x: FloatArray, level: str, width: str, smoothing: str) -> tuple[float, float]:
    """Return the seconds of value and smooth sensitivity, and those of selecting alone."""
    window = PaddedWindow(level, bounds=(0, 1000), width=width)
    search = window._search(x.copy())
    search.largest(Fraction(smoothing))
    ends = sorted({i for start, stop in search.cells.arranged for i in (start, stop - 1)})
    whole = best_time(lambda: window.summary(x, smoothing=smoothing), calls=1, batches=7)
    return whole, best_time(lambda: np.partition(x, ends), calls=1, batches=7)


def large_table(rows: int, groups: int) -> None:
    """Print what a table takes in a fresh process: medians, 90% quantiles and counts."""
    code = LARGE_TABLE.replace("GROUPS", str(groups)).replace("ROWS", str(rows))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    processor, clock, before, peak = map(float, done.stdout.split())
    print(
        f"\nA table of {rows:,} rows and {groups:,} groups, columns of numpy: medians, 90% "
        f"quantiles, counts\n  {processor:.1f} s of processor, {clock:.1f} s by the clock; at "
        f"most {peak:.0f} MB, of which the data and the libraries took {before:.0f}"
    )
    measured_seconds("A large table", f"{rows:,} rows, {groups:,} groups", processor)
