"""The worst neighbour of a database under the sampling-average mechanism.

All removed values v, all added values w and both directions count. The extreme values are
the worst in most databases but not in all (proofs/noisy-histograms#4): among even values a 1
shows itself for certain, and so does a value in the middle that one record holds. So the
extremes are evaluated, every other pair is bounded from above, and the pairs whose bound
exceeds the extremes are evaluated too: no neighbour is left out (proofs/noisy-histograms#5).

A neighbour takes out a record of value v and puts in one of value w. With y the records that
both databases share, the weight of a sum splits by whether the changed record is drawn:
N P(s) = kept(s) + drawn_v(s) and N P'(s) = kept(s) + drawn_w(s) (proofs/two-smallest#6).

With G = e^epsilon and whole = kept + drawn_v:
  N (P - G P')  = drawn_v - G drawn_w - (G - 1) kept = G (drawn_v - whole (1 - 1/G) - drawn_w),
  N (P' - G P)  = drawn_w - G drawn_v - (G - 1) kept = drawn_w - drawn_v - (G - 1) whole;
the first forms are evaluated, the second ones bounded. The search asks only for the sums
around one database (`SampleSums`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

import numpy as np

from smoothdp.exact.balls.balls import real_bounds
from smoothdp.exact.logspace.bounds import LIBM_ERROR, UNIT_ROUNDOFF, LogBounds
from smoothdp.exact.parameters.numbers import Real
from smoothdp.mechanisms.average.sum_layers import Bracket, sum_upper
from smoothdp.types import FloatArray


class Shared(Protocol):
    """Weights of the samples around the records shared with a neighbour, all positive."""

    @property
    def error(self) -> float:
        """Bound the relative error of every positive weight."""

    @property
    def kept(self) -> FloatArray:
        """Return the weights of the samples of the shared records alone."""

    def drawn(self, value: int) -> FloatArray:
        """Return the weights of the samples that hold the one more record."""


class Outline(Protocol):
    """Bounds of the same weights, cheaper, for all neighbours without one value v."""

    @property
    def own(self) -> Bracket:
        """Return bounds of drawn_v."""

    def floor(self, low: int, high: int) -> FloatArray:
        """Return lower bounds of drawn_w that hold for all w in [low, high]."""

    def added(self, low: int, high: int, cost: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return (a, b) with sum (drawn_w - cost)_+ <= sum (a - b)_+ for w in [low, high]."""


class SampleSums(Protocol):
    """The sums of the samples of one database; every array has one common length.

    ``present`` lists the values of the records, each once, in rising order.
    """

    present: tuple[int, ...]
    whole: FloatArray
    error: float
    log_total: LogBounds

    def by_sum(self) -> FloatArray:
        """Return the weight of each sum 0, 1, ..., n_draws times the largest value."""

    def shared(self, removed: int) -> Shared:
        """Return exact weights without a record of this value."""

    def outline(self, removed: int) -> Outline:
        """Return bounds of the weights without a record of this value."""

    def key(self, removed: int, added: int) -> int:
        """Return the number that `inserted` depends on: added plus a number for each removed."""

    def inserted(self, key: int) -> FloatArray:
        """Return upper bounds of drawn_w, valid for every removed value with this key."""

    def own_floor(self) -> FloatArray:
        """Return lower bounds of drawn_v, valid for every removed value."""


# Beyond this epsilon the lower bound takes only outputs that P' does not have.
_LARGEST_EPSILON = 600.0
# Bounds are taken at no larger epsilon: they stay valid, and keep their digits.
_LARGEST_BOUNDED = 20.0
# A pair bounded this little above the worst one evaluated is left at its bound.
_TOLERANCE = 3e-12
# Roundings of the differences, each relative to one of their terms.
_ROUNDINGS = 8 * UNIT_ROUNDOFF


class Growth(NamedTuple):
    """G = e^epsilon and G - 1, with their relative error; ``cut`` if epsilon is larger."""

    factor: float
    excess: float
    error: float
    cut: bool


class Weight(NamedTuple):
    """Bounds of N delta."""

    lower: float
    upper: float


def read_growth(epsilon: Real) -> Growth:
    """Return e^epsilon as floats, for epsilon >= 0."""
    low, high = real_bounds(epsilon)
    cut = low > _LARGEST_EPSILON
    if cut:
        low = high = _LARGEST_EPSILON
    factor, excess = math.exp(low), math.expm1(low)
    wide = 1.1 * (high - low) * (1.0 if excess == 0.0 else factor / excess)
    return Growth(factor, excess, wide + 2 * LIBM_ERROR, cut)


def worst_neighbour(sums: SampleSums, universe: Sequence[int], epsilon: Real) -> LogBounds:
    """Bound ln of the largest hockey stick over all neighbours and both directions.

    Args:
        sums: the sums of the samples of a database.
        universe: all values that a record may have, whole numbers; the least is 0.
    """
    growth = read_growth(epsilon)
    added = sorted(universe)
    present = sums.present
    best, evaluated = Weight(0.0, 0.0), set()
    for v in {present[0], present[-1]}:
        ends = [w for w in (added[0], added[-1]) if w != v]
        best = _worse(best, sums.shared(v), v, ends, growth)
        evaluated |= {(v, w) for w in ends}
    suspects = Suspects(sums, growth, best.upper * (1 + _TOLERANCE))
    for v in present:
        suspects.search(v, [w for w in added if w != v and (v, w) not in evaluated])
    # The most suspicious value comes first: evaluating its pairs may settle the others.
    unsearched = suspects.bound_left_out
    for v, pairs in sorted(suspects.pairs.items(), key=lambda suspect: -max(suspect[1].values())):
        limit = best.upper * (1 + _TOLERANCE)
        unsearched = max([unsearched, *(bound for bound in pairs.values() if bound <= limit)])
        worth_evaluating = [w for w, bound in pairs.items() if bound > limit]
        if worth_evaluating:
            best = _worse(best, sums.shared(v), v, worth_evaluating, growth)
    upper, total = max(best.upper, unsearched), sums.log_total
    return LogBounds(_log(best.lower, total.upper, -1), _log(upper, total.lower, 1))


def _worse(best: Weight, shared: Shared, v: int, added: list[int], growth: Growth) -> Weight:
    """Return the worst of ``best`` and the pairs (v, w), w in ``added``."""
    drawn_v, kept = shared.drawn(v), shared.kept
    for w in added:
        drawn_w = shared.drawn(w)
        for weights, other_weights in ((drawn_v, drawn_w), (drawn_w, drawn_v)):
            weight = _excess(weights, other_weights, kept, shared.error, growth)
            best = Weight(max(best.lower, weight.lower), max(best.upper, weight.upper))
    return best


def _excess(
    weights: FloatArray, other_weights: FloatArray, kept: FloatArray, error: float, growth: Growth
) -> Weight:
    """Bound the sum of (weights - G other_weights - (G - 1) kept)_+."""
    positive = weights > 0
    weights, other_weights, kept = weights[positive], other_weights[positive], kept[positive]
    with np.errstate(over="ignore", invalid="ignore"):
        cost = growth.factor * other_weights + growth.excess * kept
        slip = (error + growth.error + _ROUNDINGS) * (weights + cost)
        gap = weights - cost
        near = gap > -slip
    total = math.fsum(np.maximum(gap[near], 0.0).tolist())
    loose = math.fsum(slip[near].tolist()) * 1.01
    lower = total - loose
    if growth.cut:
        alone = weights[(other_weights == 0) & (kept == 0)]
        lower = math.fsum(alone.tolist()) * (1 - 2 * error)
    return Weight(max(0.0, lower) * (1 - _ROUNDINGS), (total + loose) * (1 + _ROUNDINGS))


class Suspects:
    """Neighbours that may be worse than a limit, located by bounds.

    A bound holds for one removed value and an interval of added values, on one side of the
    removed one; the interval is halved until the bound is within the limit or the interval is a
    single pair. ``bound_left_out`` bounds all pairs within the limit, ``pairs`` holds the
    others: removed value, added value, bound.
    """

    def __init__(self, sums: SampleSums, growth: Growth, limit: float) -> None:
        self.sums, self.limit = sums, limit
        self.bound_left_out = 0.0
        self.pairs: dict[int, dict[int, float]] = {}
        self.keys: dict[int, bool] = {}
        self.own_floor = sums.own_floor()
        self.same_both_ways = growth.excess == 0.0
        share = growth.excess * (1 - growth.error - sums.error - _ROUNDINGS)
        with np.errstate(over="ignore"):
            self.price_second = share * sums.whole
        capped = _at_most(_LARGEST_BOUNDED, growth)
        self.factor = capped.factor * (1 + 2 * capped.error)
        share = capped.excess / capped.factor * (1 - 2 * capped.error - _ROUNDINGS)
        self.price_first = (share * (1 - sums.error)) * sums.whole

    def search(self, v: int, added: Sequence[int]) -> None:
        """Add the suspicious pairs with removed value v."""
        outline = self.sums.outline(v)
        lower, upper = outline.own
        gain = np.maximum(upper * (1 + _ROUNDINGS) - self.price_first, 0.0)
        cost = self.price_second + lower * (1 - _ROUNDINGS)

        def first(low: int, high: int) -> float:
            floor = outline.floor(low, high) * (1 - _ROUNDINGS)
            return sum_upper(np.maximum(gain - floor, 0.0)) * self.factor

        def second(low: int, high: int) -> float:
            upper_weights, price = outline.added(low, high, cost)
            return sum_upper(np.maximum(upper_weights * (1 + _ROUNDINGS) - price, 0.0))

        far = self._above(sum_upper(gain) * self.factor)
        for side in ([w for w in added if w < v], [w for w in added if w > v]):
            if far:
                self._halve(v, side, first)
            if not self.same_both_ways:
                self._halve(v, self._inserting(v, side), second)

    def _inserting(self, v: int, added: list[int]) -> list[int]:
        """Return the values whose second direction may be above the limit, for a v of the key."""
        known, shift = self.keys, self.sums.key(v, 0)
        for key in (w + shift for w in added if w + shift not in known):
            gap = self.sums.inserted(key) * (1 + _ROUNDINGS) - self.price_second
            gap -= self.own_floor * (1 - _ROUNDINGS)
            known[key] = self._above(sum_upper(np.maximum(gap, 0.0)))
        return [w for w in added if known[w + shift]]

    def _above(self, bound: float) -> bool:
        """Return whether a bound is above the limit; remember it if not."""
        if bound <= self.limit:
            self.bound_left_out = max(self.bound_left_out, bound)
            return False
        return True

    def _halve(self, v: int, added: list[int], bound: Callable[[int, int], float]) -> None:
        if not added:
            return
        value = bound(added[0], added[-1])
        if not self._above(value):
            return
        if len(added) == 1:
            pairs = self.pairs.setdefault(v, {})
            pairs[added[0]] = max(value, pairs.get(added[0], 0.0))
            return
        middle = len(added) // 2
        self._halve(v, added[:middle], bound)
        self._halve(v, added[middle:], bound)


def _at_most(epsilon: float, growth: Growth) -> Growth:
    """Return the growth at the smaller epsilon."""
    if growth.factor <= math.exp(epsilon):
        return growth
    return Growth(math.exp(epsilon), math.expm1(epsilon), 2 * LIBM_ERROR, False)


def _log(weight: float, log_total: float, direction: int) -> float:
    """Return ln(weight / N), moved in a direction by more than its rounding."""
    if weight <= 0.0:
        return -math.inf
    log_weight = math.log(weight)
    slip = (LIBM_ERROR + 4 * UNIT_ROUNDOFF) * (abs(log_weight) + abs(log_total) + 1)
    return log_weight - log_total + direction * slip
