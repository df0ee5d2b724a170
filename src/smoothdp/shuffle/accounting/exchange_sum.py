"""How far apart (Y + 1, Y') and (Y, Y' + 1) are, for independent binomials Y and Y'.

The exchange sum is the sum over (a, b) of (P(a - 1) P(b) - E P(a) P(b - 1))_+, with P the law
of Bin(n, p) and E = e^epsilon. Write N = n + 1, R for the law of Bin(N, p), q = 1 - p. The
terms with a >= t_b are positive, t_b the least a with a (N - b) >= E b (N - a), and
P(a - 1) = R(a) a / (N p), P(b) = R(b) (N - b) / (N q) turn the sum into

    1 / (N^2 p q) sum_b R(b) [ (t (N - b) - E b (N - t)) A(t) + (N - b + E b) B(t) ],  t = t_b,

A(t) the sum of R(a) over a >= t and B(t) that of A(a) over a > t: nothing but positive terms,
O(window) of them. It is the same for p and 1 - p.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import reduce
from typing import NamedTuple

import numpy as np

from smoothdp.errors import OutOfReach
from smoothdp.exact.balls.balls import ball, enclose, exp_bounds, log_bounds, precision
from smoothdp.exact.balls.rationals import exp_split
from smoothdp.exact.logspace.bounds import (
    LIBM_ERROR,
    UNIT_ROUNDOFF,
    LogBounds,
    log_sum_lower,
    log_sum_upper,
)
from smoothdp.exact.logspace.double_double import exact_product, exact_sum, split_integers
from smoothdp.exact.logspace.ratio_sum import expected_length
from smoothdp.exact.logspace.suffix_sums import discounted_suffix_sums, suffix_roundings
from smoothdp.exact.parameters.numbers import LogRatio, Real
from smoothdp.exact.probabilities.points import binomial_point
from smoothdp.shuffle.accounting.exchange_rows import (
    Placement,
    add_up,
    log_ratio,
    log_rows_upper,
    place_rows,
    share_beyond,
    tilted_law,
)
from smoothdp.types import BoolArray, FloatArray, IntArray

LARGEST_TRIALS = (1 << 31) - 2
"""Products of two counts must fit 62 bits."""

_MOST_ROWS = 1 << 23
# Dropped rows may weigh this much beside the sum, as a logarithm, and a block of them this.
_DROPPED = -28.0
_BLOCK = -34.0
_MOST_WIDENINGS = 4
_WHOLE = 512
# Rows whose factors are smaller than this are dropped: no product of them underflows.
_TINY = 1e-200
_LARGEST_EXPONENT = 400.0
# What the discounts of a suffix sum can lose of each of its terms (5e-324 times e^100).
_UNDERFLOW = 1e-279


def log_exchange_sum(n_trials: int, probability: Fraction, epsilon: Real) -> LogBounds:
    """Bound ln of the exchange sum, for n_trials >= 1, 0 < probability < 1, epsilon >= 0.

    The bounds are within 1e-10 of each other, or 8 units in the last place of the logarithm;
    only next to p = 1/2 and epsilon = 3.1, where the sum is below e^(-.4 n), they are wide.

    Raises:
        OutOfReach: more than 2^31 - 2 trials, or windows of more than 2^23 terms.

    >>> bounds = log_exchange_sum(1, Fraction(1, 2), Fraction(0))
    >>> bounds.lower <= math.log(0.75) <= bounds.upper
    True
    """
    if n_trials > LARGEST_TRIALS:
        raise OutOfReach(
            expected=f"at most {LARGEST_TRIALS} users",
            got=f"{n_trials}",
            remedy="Account for fewer users",
        )
    p = min(probability, 1 - probability)
    total = n_trials + 1
    if p * total < Fraction(1, 10**200):
        # All but P(Y' = 0)^n >= 1 - n p of the mass is at b = 0, where the second law has none.
        return LogBounds(n_trials * log_bounds(1 - p).lower * (1 + 1e-15), 0.0)
    growth_bounds = exp_bounds(epsilon)
    if growth_bounds.lower > 2.0 * total * total:
        return _edges(n_trials, p)
    growth = exp_split(epsilon)
    places = place_rows(total, float(p), math.log(growth[0]))
    if total <= _WHOLE:
        places = [places[0]._replace(first=0, last=n_trials, highest=total)]
    for widening in range(_MOST_WIDENINGS + 1):
        logs, dropped = _sum_places(places, total, p, growth)
        upper = min(0.0, log_sum_upper(logs.upper, dropped))
        size = sum(place.last - place.first for place in places)
        if dropped <= logs.lower + _DROPPED or 2 * size > _MOST_ROWS or widening == _MOST_WIDENINGS:
            break
        places = _widened(places, n_trials)
    if dropped <= logs.lower + _DROPPED:
        return LogBounds(logs.lower, upper)
    return LogBounds(max(logs.lower, _edges(n_trials, p).lower), upper)


def _sum_places(
    places: list[Placement], total: int, p: Fraction, growth: tuple[float, float]
) -> tuple[LogBounds, float]:
    """Bound ln of the sum over the placed rows, and of what all other rows hold at most."""
    parts = [_sum_rows(place, total, p, growth) for place in places]
    lower = reduce(log_sum_lower, (part.logs.lower for part in parts))
    upper = reduce(log_sum_upper, (part.logs.upper for part in parts))
    starts = [0, *(part.last + 1 for part in parts)]
    ends = [*(part.first - 1 for part in parts), total - 1]
    dropped = [
        log_rows_upper(start, end, total - 1, p, growth[0], lower + _BLOCK)
        for start, end in zip(starts, ends, strict=True)
    ]
    return LogBounds(lower, upper), reduce(log_sum_upper, dropped)


def _widened(places: list[Placement], n_trials: int) -> list[Placement]:
    """Return the placements with more rows, which still do not overlap."""
    result: list[Placement] = []
    for index, place in enumerate(places):
        more = (place.last - place.first) // 4 + 8
        least = result[-1].last + 1 if result else 0
        most = places[index + 1].first - 1 if index + 1 < len(places) else n_trials
        result.append(
            place._replace(first=max(least, place.first - more), last=min(most, place.last + more))
        )
    return result


def _edges(n_trials: int, p: Fraction) -> LogBounds:
    """Bound ln of the mass where the second law has none: (1-p)^n + p^n - (p (1-p))^n.

    It is at a = N or b = 0, and all that is left of the sum if E > 2 N^2.
    """
    bits = 128
    while True:
        with precision(bits):
            hit, miss = n_trials * ball(p).log(), n_trials * ball(LogRatio(1 - p))
            value = miss.exp() + hit.exp() * -miss.expm1()
            log_value = value.log()
            if log_value.is_finite() and log_value.rel_accuracy_bits() > 60:
                return enclose(log_value)
        bits *= 2


class _Rows(NamedTuple):
    """Rows b = first..last: thresholds t, t (N - b) - E b (N - t), and N - b + E b."""

    b: IntArray
    threshold: IntArray
    excess: FloatArray
    width: FloatArray

    @property
    def first(self) -> int:
        return int(self.b[0])

    @property
    def last(self) -> int:
        return int(self.b[-1])

    @classmethod
    def between(cls, first: int, last: int, total: int, growth: tuple[float, float]) -> _Rows:
        """Return the rows of a range, cut to 0..N - 1.

        The excess is right to 2^-98 t (N - b), and to two roundings: thresholds chosen wrongly
        for that reason change it by no more.
        """
        b = np.arange(max(0, first), min(total - 1, last) + 1)
        if b.size > _MOST_ROWS:
            raise OutOfReach(
                expected=f"at most {_MOST_ROWS} terms",
                got=f"{b.size}",
                remedy="Account for fewer users",
            )
        shifted = growth[0] * b
        width = (total - b) + shifted
        threshold = np.ceil(total * shifted / width).astype(np.int64)
        excess = _excess(b, threshold, total, growth)
        for sign, off in ((1, excess < 0), (-1, excess >= width)):
            wrong = np.flatnonzero(off)
            if wrong.size:
                threshold[wrong] = np.clip(threshold[wrong] + sign, 0, total)
                excess[wrong] = _excess(b[wrong], threshold[wrong], total, growth)
        return cls(b, threshold, excess, width)

    def cut(self, keep: BoolArray, place: int) -> slice:
        """Return the unbroken run of rows to keep around a place."""
        out = np.flatnonzero(~keep)
        position = int(np.searchsorted(out, place))
        start = int(out[position - 1]) + 1 if position else 0
        stop = int(out[position]) if position < out.size else keep.size
        return slice(start, stop)


def _excess(
    b: IntArray, threshold: IntArray, total: int, growth: tuple[float, float]
) -> FloatArray:
    large, large_low = split_integers(threshold * (total - b))
    small, small_low = split_integers(b * (total - threshold))
    product, error = exact_product(growth[0], small)
    error = error + (growth[0] * small_low + growth[1] * small)
    difference, lost = exact_sum(large, -product)
    result: FloatArray = difference + (lost + (large_low - error))
    return result


class _Part(NamedTuple):
    """Bounds of ln of the sum over the rows first..last."""

    first: int
    last: int
    logs: LogBounds


def _sum_rows(place: Placement, total: int, p: Fraction, growth: tuple[float, float]) -> _Part:
    """Sum the rows of a placement, less those at its ends whose factors underflow."""
    rows = _Rows.between(place.first, place.last, total, growth)
    # Thresholds grow with b: rows whose threshold lies far out are among the dropped ones.
    near = slice(0, max(1, int(np.searchsorted(rows.threshold, place.highest, side="right"))))
    rows = _Rows(rows.b[near], rows.threshold[near], rows.excess[near], rows.width[near])
    # Both anchors must lie in their windows.
    place = place._replace(b=min(place.b, rows.last), a=max(place.a, int(rows.threshold[0])))
    tail = 1.0
    while True:
        part = _try_rows(rows, total, p, place, tail)
        if part is not None:
            return part
        tail *= 2.0


def _try_rows(rows: _Rows, total: int, p: Fraction, place: Placement, tail: float) -> _Part | None:
    """Sum the rows; None if the tail of A was cut too short."""
    odds = p / (1 - p)
    weights, log_tilt_b = tilted_law(rows.b, place.b, total, odds, place.tilt_b)
    lowest, top = int(rows.threshold[0]), int(rows.threshold[-1])
    reach = max(top, place.a)
    slope = min(0.0, log_ratio(reach, total, odds))
    curvature = 1 / (reach + 1) + 1 / (total - reach + 1)
    highest = min(total, reach + math.ceil(tail * (8 + 1.5 * expected_length(slope, curvature))))
    if highest - lowest > 4 * _MOST_ROWS:
        raise OutOfReach(
            expected="a window of fewer terms",
            got=f"{highest - lowest}",
            remedy="Account for fewer users",
        )
    laws, log_tilt_a = tilted_law(
        np.arange(lowest, highest + 1), place.a, total, odds, place.tilt_a
    )
    first_sums = discounted_suffix_sums(laws, log_tilt_a)
    second_sums = discounted_suffix_sums(first_sums, log_tilt_a)
    second_sums = np.append(second_sums[1:], 0.0) * math.exp(-log_tilt_a)
    places = rows.threshold - lowest
    move_a, move_b = rows.threshold - place.a, rows.b - place.b
    exponent = -log_tilt_b * move_b - log_tilt_a * move_a
    a_sums, b_sums = first_sums[places], second_sums[places]
    keep = (weights >= _TINY) & (a_sums >= _TINY) & (exponent <= _LARGEST_EXPONENT)
    run = rows.cut(keep, int(np.argmax(np.where(keep, weights * a_sums, 0.0))))
    rows = _Rows(rows.b[run], rows.threshold[run], rows.excess[run], rows.width[run])
    cut = share_beyond(
        (laws, first_sums, second_sums), lowest, int(rows.threshold[-1]), total, odds, log_tilt_a
    )
    if cut is None:
        return None
    scale = weights[run] * np.exp(exponent[run])
    a_sums, b_sums = a_sums[run], b_sums[run]
    terms = scale * (rows.excess * a_sums + rows.width * b_sums)
    sums = add_up(terms)
    # 2^-98 t (N - b) of the excess, and what underflow can take away.
    loose = 2.0**-97 * add_up(scale * a_sums * rows.threshold * (total - rows.b))
    loose += _UNDERFLOW * laws.size * add_up(scale * (1.0 + rows.width))
    move_a, move_b = np.abs(move_a[run]), np.abs(move_b[run])
    length = b_sums / a_sums
    # Roundings: three a step in each law; sums as `discounted_suffix_sums` says, whose mean
    # distance is at most B / A for A and twice that for B (both are log-concave); the exponent.
    units = 3.0 * (move_a + move_b) + 8.0 * length
    units += 4.0 * (abs(log_tilt_b) * move_b + abs(log_tilt_a) * (move_a + 2.0 * length))
    fixed = 2.0 * suffix_roundings(laws.size, log_tilt_a) + 400.0
    error = UNIT_ROUNDOFF * (add_up(terms * units) / sums + fixed)
    error = 1.05 * (error + 4 * LIBM_ERROR)
    with precision(128):
        anchor = enclose(-(total * total * ball(p) * ball(1 - p)).log())
    anchor = anchor.shifted(binomial_point(place.b, total, odds.numerator, odds.denominator))
    anchor = anchor.shifted(binomial_point(place.a, total, odds.numerator, odds.denominator))
    least = sums * (1 - error) - loose
    lower = math.log(least) - 4 * LIBM_ERROR if least > 0.0 else -math.inf
    upper = math.log((sums * (1 + error) + loose) * (1 + cut)) + 4 * LIBM_ERROR
    slip = LIBM_ERROR * abs(upper)
    return _Part(rows.first, rows.last, anchor.shifted(LogBounds(lower - slip, upper + slip)))
