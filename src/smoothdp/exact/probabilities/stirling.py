"""The two halves of Loader's method for probabilities of large counts.

ln n! = n ln n - n + log_factorial_excess(n), and the n ln n parts of a probability combine
into deviances, which vanish at the mode: nothing large cancels. With lgamma the error at
n = 1.5e8 is 1e-7; here it is a few units in the last place of the result.

Source: C. Loader, Fast and accurate computation of binomial probabilities (2000).
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from smoothdp.exact.logspace.bounds import UNIT_ROUNDOFF
from smoothdp.types import FloatArray, IntArray

EXCESS_ERROR = 40 * UNIT_ROUNDOFF
"""Absolute error of `log_factorial_excess`, for n < 2^62: values are below 24."""

DEVIANCE_ERROR = 40 * UNIT_ROUNDOFF
"""Relative error of `deviance`."""

TABLE = (
    0.0,
    1.0000000000000000000,
    1.3068528194400546906,
    1.4959226032237259266,
    1.6328763858683831443,
    1.7403021806115441212,
    1.8286943966417709902,
    1.9037903176782211644,
    1.9690705693065628024,
    2.0268062840554951661,
    2.0785616431350584550,
    2.1254598450918098546,
    2.1683346982058824268,
    2.2078222061234453169,
    2.2444185681250608968,
    2.2785183673077405761,
    2.3104405502441730011,
)
"""ln n! - (n ln n - n) for n = 0..16, to 20 digits."""

_TABLE = np.array(TABLE)
_HALF_LOG_2PI = 0.91893853320467274178
_SERIES_BELOW = 0.5
_INT64_ROOM = 1 << 62


def log_factorial_excess(n: IntArray) -> FloatArray:
    """Return ln n! - (n ln n - n), and 0 at n = 0.

    From a table up to 16, by Stirling's series beyond (its remainder is below the first
    term left out, 7e-4 n^-11 < 5e-17 at n = 17). Absolute error at most `EXCESS_ERROR`:
    half ln n is below 22 with 4 ulp, the rest adds a few units.
    """
    values = np.empty(n.shape)
    small = n <= 16
    values[small] = _TABLE[n[small]]
    large = n[~small].astype(np.float64)
    inverse = 1.0 / large
    square = inverse * inverse
    series = np.full(large.shape, 1 / 1188)
    for coefficient in (-1 / 1680, 1 / 1260, -1 / 360, 1 / 12):
        series = coefficient + square * series
    values[~small] = series * inverse + (_HALF_LOG_2PI + 0.5 * np.log(large))
    return values


def deviance(
    x: IntArray, mean: FloatArray | float, difference: FloatArray, relative: FloatArray
) -> FloatArray:
    """Return x ln(x / M) + M - x, for counts x and means M.

    Args:
        x: counts >= 0.
        mean: M >= 0, correctly rounded.
        difference: x - M, correctly rounded.
        relative: (x - M) / (x + M), with at most three roundings; 0 where both are 0.

    Relative error at most `DEVIANCE_ERROR`: below |relative| = 1/2 by the series
    d v + 2 x (v^3/3 + v^5/5 + ...) (its terms cancel by less than a factor 2), beyond it
    directly, where x ln(x / M), right to 12 units, exceeds the result at most 2.6 times.
    """
    count = x.astype(np.float64)
    square = relative * relative
    with np.errstate(divide="ignore", invalid="ignore"):
        series = np.zeros_like(relative)
        near = np.abs(relative) < _SERIES_BELOW
        largest = float(square[near].max(initial=0.0))
        # Terms fall by v^2 <= 1/4: 27 of them leave less than 2^-54 of the first.
        n_terms = 3
        while largest**n_terms > 2.0**-56 and n_terms < 28:
            n_terms += 1
        for power in range(n_terms, 0, -1):
            series = (series + 1.0 / (2 * power + 1)) * square
        by_series = difference * relative + 2.0 * count * relative * series
        direct = count * np.log(count / mean) - difference
        direct = np.where(x == 0, -difference, direct)
    return np.where(near, by_series, direct)


def cell_deviance(x: IntArray, mean: Fraction) -> FloatArray:
    """Return x ln(x / M) + M - x for counts x >= 0 and a rational mean M > 0.

    x - M and (x - M) / (x + M) come from whole numbers, x b -+ a for M = a / b: exactly,
    in 64 bits while they fit and in Python integers beyond.
    """
    numerator, denominator = mean.numerator, mean.denominator
    largest = max(int(x.max(initial=0)), 1) * denominator + numerator
    if largest < _INT64_ROOM:
        scaled = x * denominator
        below, above = scaled - numerator, scaled + numerator
        difference = below / float(denominator)
        relative = below / above.astype(np.float64)
    else:
        wide = [int(value) * denominator for value in x]
        difference = np.array([(value - numerator) / denominator for value in wide])
        relative = np.array([(value - numerator) / (value + numerator) for value in wide])
    return deviance(x, numerator / denominator, difference, relative)
