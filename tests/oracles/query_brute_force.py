"""Statistics and their sensitivities by their definitions, over all databases of a small grid.

Written without the library: whole numbers, one axis of an array for each record.
"""

from __future__ import annotations

import itertools
from fractions import Fraction

import mpmath
import numpy as np

from smoothdp.types import IntArray

Table = IntArray


def databases(grid: list[int], n: int) -> Table:
    """All databases, sorted within: shape (g, ..., g, n)."""
    rows = np.array(list(itertools.product(grid, repeat=n)), dtype=np.int64)
    return np.sort(rows, axis=1).reshape((len(grid),) * n + (n,))


def window_sums(grid: list[int], n: int, lo: int, hi: int) -> Table:
    """Sums of the order statistics lo+1..n-hi of every database."""
    sums: Table = databases(grid, n)[..., lo : n - hi].sum(axis=-1)
    return sums


def widened(table: Table) -> Table:
    """The largest entry within one replaced record of every database."""
    result: Table = table
    for axis in range(table.ndim):
        result = np.maximum(result, table.max(axis=axis, keepdims=True))
    return result


def local_sensitivities(f: Table, last: int) -> list[Table]:
    """LS^k of an integer statistic for k = 0..last, by the definition."""
    change: Table = np.zeros_like(f)
    for axis in range(f.ndim):
        change = np.maximum(change, f.max(axis=axis, keepdims=True) - f)
        change = np.maximum(change, f - f.min(axis=axis, keepdims=True))
    tables = [change]
    for _ in range(last):
        tables.append(widened(tables[-1]))
    return tables


def best_decay(levels: list[Fraction], rate: Fraction) -> tuple[int, Fraction]:
    """The (k, level) with the largest e^(-rate k) level, at 60 digits."""
    with mpmath.workdps(60):
        t = mpmath.mpf(rate.numerator) / rate.denominator
        logs = [
            mpmath.log(mpmath.mpf(d.numerator) / d.denominator) - k * t if d else -mpmath.inf
            for k, d in enumerate(levels)
        ]
        k = max(range(len(levels)), key=lambda i: logs[i])
    return k, levels[k]


def float_above(number: Fraction) -> float:
    """The least float that is not below a rational."""
    value = float(number)
    return value if Fraction(value) >= number else float(np.nextafter(value, np.inf))
