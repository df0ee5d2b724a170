"""How surely the interval of a half-shift release covers a quantile: never above the truth.

With Z the noise at unit scale, s its shift and B the normal noise on ln S, the value misses a
theta with |f - theta| <= k S with probability at most 1 - c(k; F),

    c(k; F) = P(|Z / s + k| <= F e^B).

F e^B grows with B: so over cells of B of equal probability, each taken at its lower end, the mean
is not above c(k; F), and less than 1 / 4096 below it. c falls with k: a k may be rounded up.

Source: proofs/half-shift#6.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from smoothdp.exact.parameters.numbers import float_of
from smoothdp.exact.probabilities.scalar_pmf import binomial_log_pmf
from smoothdp.mechanisms.release.defaults import SAMPLING_ERROR
from smoothdp.noise.law import NoiseDistribution
from smoothdp.queries.many.half_shift import HalfShiftWindow
from smoothdp.types import FloatArray

_CELLS = 4096
_FLOAT_ERROR = 1e-9
_LEFT_OUT = 1e-7
_TOO_FAR = 1e-3
_EXACT_EXCESS = 24.0
_MOST_LOG = 600.0
_RELATIVE_EXCESS = 0.05
_LEAST_HALF = 0.02
_MOST_HALF = 1e9
_TABLE_STEP = 0.002
_REST = 1e-4
_AT_ONCE = 1 << 20


@dataclass(frozen=True, slots=True)
class Target:
    """A quantile of these records, or of their population.

    Attributes:
        level: q. n_records: n. population: whether it is the population's.
    """

    level: Fraction
    n_records: int
    population: bool = False


def excesses(window: HalfShiftWindow, start: int, below: FloatArray) -> FloatArray:
    """Return k with |f - theta| <= k S for every theta between cells c and c + 1, rounded up.

    Args:
        window: its width and smoothing. start: l, its first cell. below: values of c.

    >>> window = HalfShiftWindow(8, 1, Fraction(1, 10), 400)
    >>> excesses(window, 7, np.array([7.0, 6.0, 3.0])).round(6).tolist()
    [1.0, 2.0, 2.699718]
    """
    last, t = start + window.cells - 1, float_of(window.smoothing)
    before, after = start - below, below + 1 - last
    up = np.where(
        before > 0,
        window.cells * np.exp(np.minimum(t * (before - 1), _MOST_LOG)),
        np.maximum(last - below, 0.0),
    )
    down = np.where(
        after > 0,
        window.cells * np.exp(np.minimum(t * (after - 1), _MOST_LOG)),
        np.maximum(below + 1 - start, 0.0),
    )
    # A few roundings, and those of the product in the exponent at its size.
    return np.asarray(np.maximum(up, down) * (1 + 2.0**-50 * _MOST_LOG))


@lru_cache(maxsize=4096)
def factor(
    law: NoiseDistribution,
    shift: float,
    spread: float,
    window: HalfShiftWindow,
    shift_variance: Fraction,
    target: Target,
    confidence: float,
) -> float:
    """Return an F with which the interval y +- F e^(ln S + B) covers the target, inf if none.

    Args:
        law: of Z. shift: s. spread: the deviation of B.
        window: as it is before the shift. shift_variance: sigma_h^2.
        target: what is covered. confidence: with which probability at least.
    """
    distances, weights = _distances(window, shift_variance, target)
    # Lower ends of cells of equal probability; the first starts at minus infinity.
    inner = np.arange(1, _CELLS) / _CELLS
    growth = spread * np.asarray(SAMPLING_ERROR.quantile(inner)) * (1 + 1e-12)
    least = confidence + _FLOAT_ERROR
    # The largest k, of a thousandth of what may be missed, count as missed.
    far = np.cumsum(weights[::-1])[::-1] <= _TOO_FAR * (1 - confidence)
    distances, weights = distances[~far], weights[~far]
    if float(weights.sum()) * (_CELLS - 1) / _CELLS < least:
        return math.inf
    table = _table(law, shift, distances, weights)

    def covers(log_candidate: float) -> bool:
        # A half-width counts as the table's next smaller one.
        places = np.floor((log_candidate + growth - math.log(_LEAST_HALF / shift)) / _TABLE_STEP)
        found = table[np.clip(places, 0, len(table) - 1).astype(np.int64)]
        return float(np.where(places < 0, 0.0, found).sum()) / _CELLS >= least

    low = math.log(_LEAST_HALF / shift)
    high = low + len(table) * _TABLE_STEP + 8 * spread
    if not covers(high):
        return math.inf
    while high - low > _TABLE_STEP / 8:
        middle = (low + high) / 2
        low, high = (low, middle) if covers(middle) else (middle, high)
    return math.exp(high) * (1 + 1e-12)


def _table(
    law: NoiseDistribution, shift: float, distances: FloatArray, weights: FloatArray
) -> FloatArray:
    """Return sum of weight P(|Z / s + k| <= v) for v = c, c e^d, c e^(2d), ...: it rises with v."""
    start = _LEAST_HALF / shift
    end = start + float(distances[-1]) + 1 / shift
    most = float(weights.sum())
    while True:
        count = math.ceil(math.log(end / start) / _TABLE_STEP) + 1
        half = start * np.exp(_TABLE_STEP * np.arange(count) * (1 - 1e-14))
        table = np.zeros(count)
        for rows in np.array_split(np.arange(count), 1 + count * len(distances) // _AT_ONCE):
            inside = half[rows, None]
            missed = np.asarray(law.survival((inside - distances) * shift))
            missed = missed + np.asarray(law.survival((inside + distances) * shift))
            table[rows] = np.maximum(1.0 - missed, 0.0) @ weights
        if table[-1] >= most * (1 - _REST) or end > _MOST_HALF * start:
            return np.asarray(np.maximum.accumulate(table))
        end *= 16


def _distances(
    window: HalfShiftWindow, shift_variance: Fraction, target: Target
) -> tuple[FloatArray, FloatArray]:
    """Return the values that k takes, rounded up, and their probabilities, rounded down."""
    shifts, shift_weights = _shifts(shift_variance)
    first, cell_weights = _cells_below(target)
    # k depends on c - h alone, and h is symmetric.
    weights = np.convolve(cell_weights, shift_weights)
    places = first - len(shifts) // 2 + np.arange(len(weights), dtype=np.float64)
    k = excesses(window, window.centre - window.width, places)
    steps = np.ceil(np.log(np.maximum(k, _EXACT_EXCESS) / _EXACT_EXCESS) / _RELATIVE_EXCESS + 1e-9)
    coarse = _EXACT_EXCESS * np.exp(_RELATIVE_EXCESS * steps)
    k = np.where(k <= _EXACT_EXCESS, k, np.maximum(k, coarse))
    values, owners = np.unique(k, return_inverse=True)
    return values, np.bincount(owners, weights=weights).astype(np.float64)


def _shifts(shift_variance: Fraction) -> tuple[FloatArray, FloatArray]:
    """Return h around 0 and probabilities that are not above the truth."""
    variance = float_of(shift_variance)
    reach = math.ceil(math.sqrt(-2 * variance * math.log(_LEFT_OUT))) + 1
    h = np.arange(-reach, reach + 1, dtype=np.float64)
    weights = np.exp(-h * h / (2 * variance))
    # The rest is below that of a normal law from reach on (proofs/half-shift#6).
    rest = 2 * math.exp(-(reach**2) / (2 * variance))
    return h, weights / weights.sum() * (1 - rest)


def _cells_below(target: Target) -> tuple[int, FloatArray]:
    """Return the probabilities of the c between whose cells the target lies, and the first c.

    Of these records c = ceil(qn) + floor(qn); of the population c = 2 J, J binomial.
    """
    q, n = target.level, target.n_records
    if not target.population:
        return math.ceil(q * n) + math.floor(q * n), np.ones(1)
    mode = min(n, math.floor((n + 1) * q))
    reach = math.ceil(6 * math.sqrt(float(n * q * (1 - q)))) + 20
    first, last = max(0, mode - reach), min(n, mode + reach)
    log, error = binomial_log_pmf(mode, n, q.numerator, q.denominator - q.numerator)
    odds = float(q / (1 - q))
    above, below = np.arange(mode, last), np.arange(mode, first, -1)
    weights = np.concatenate(
        [
            np.cumprod(below / (n - below + 1.0) / odds)[::-1],
            np.ones(1),
            np.cumprod((n - above) / (above + 1.0) * odds),
        ]
    ) * math.exp(log - error - _FLOAT_ERROR)
    cells = np.zeros(2 * len(weights) - 1)
    cells[::2] = weights
    return 2 * first, cells
