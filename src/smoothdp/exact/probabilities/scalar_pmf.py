"""Loader's method for one count at a time, in plain floats: fast where arrays are slow.

The formulas and bounds are those of `stirling`, `windows` and `array_pmf`.
"""

from __future__ import annotations

import math

from smoothdp.exact.probabilities.stirling import DEVIANCE_ERROR, EXCESS_ERROR, TABLE

_HALF_LOG_2PI = 0.91893853320467274178


def factorial_excess(n: int) -> float:
    """Return ln n! - (n ln n - n), and 0 at n = 0; error at most EXCESS_ERROR."""
    if n <= 16:
        return TABLE[n]
    inverse = 1.0 / n
    square = inverse * inverse
    series = 1 / 1260 + square * (-1 / 1680 + square * (1 / 1188))
    series = 1 / 12 + square * (-1 / 360 + square * series)
    return series * inverse + (_HALF_LOG_2PI + 0.5 * math.log(n))


def cell_deviance(x: int, numerator: int, denominator: int) -> float:
    """Return x ln(x / M) + M - x for M = numerator / denominator > 0."""
    if x == 0:
        return numerator / denominator
    scaled = x * denominator
    relative = (scaled - numerator) / (scaled + numerator)
    difference = (scaled - numerator) / denominator
    if abs(relative) >= 0.5:
        return x * math.log(scaled / numerator) - difference
    square = relative * relative
    term, power, series = square, 3, 0.0
    while True:
        step = term / power
        series += step
        if step <= 1e-17 * series:
            break
        term *= square
        power += 2
    return difference * relative + 2.0 * x * relative * series


def binomial_log_pmf(k: int, n: int, hit: int, miss: int) -> tuple[float, float]:
    """Return ln P(k) of Bin(n, hit / (hit + miss)) and its error, for 0 <= k <= n."""
    total = hit + miss
    parts = cell_deviance(k, n * hit, total) + cell_deviance(n - k, n * miss, total)
    excess = factorial_excess(n) - factorial_excess(k) - factorial_excess(n - k)
    return excess - parts, (DEVIANCE_ERROR + 2.0**-51) * parts + 4 * EXCESS_ERROR


def hypergeometric_log_pmf(k: int, n_draws: int, a: int, b: int) -> tuple[float, float]:
    """Return ln P(k), k of category a among n_draws of a + b, and its error.

    Domain: 0 < n_draws < a + b, a and b positive, k in the support.
    """
    total = a + b
    left = total - n_draws
    parts = cell_deviance(k, n_draws * a, total) + cell_deviance(n_draws - k, n_draws * b, total)
    parts += cell_deviance(a - k, left * a, total) + cell_deviance(b - n_draws + k, left * b, total)
    excess = factorial_excess(n_draws) + factorial_excess(left) + factorial_excess(a)
    excess += factorial_excess(b) - factorial_excess(total)
    excess -= factorial_excess(k) + factorial_excess(n_draws - k)
    excess -= factorial_excess(a - k) + factorial_excess(b - n_draws + k)
    return excess - parts, (DEVIANCE_ERROR + 2.0**-50) * parts + 12 * EXCESS_ERROR
