"""The largest number of draws whose delta(x) meets a target, at public counts."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from smoothdp.design.cells import Stratum
from smoothdp.exact.balls.balls import log_bounds
from smoothdp.exact.logspace.bounds import LOG_ZERO, LogBounds
from smoothdp.exact.logspace.log_sums import largest
from smoothdp.exact.parameters.numbers import Real
from smoothdp.mechanisms.histogram.histogram_mechanism import worst_pairs
from smoothdp.mechanisms.histogram.sampling_histogram import SamplingHistogram
from smoothdp.mechanisms.histogram.walk.far import log_far_above

_FLAT = -1e4


@dataclass(frozen=True, slots=True)
class LargestDraws:
    """How many records of a stratum may be drawn.

    Attributes:
        n_draws: T, the largest number that is proved to meet the target; 0: not one.
        log_delta: around ln delta(x) at T; -inf for 0 draws.
        undecided: the numbers beyond T of which it is not known whether they meet it.
    """

    n_draws: int
    log_delta: LogBounds
    undecided: range


class CellsQuestion:
    """delta(x) of a stratum as a function of the number of draws T.

    delta(x) never falls when T grows, and neither does one D(A, B): draws left out at random
    are post-processing (proofs/designer#2).
    """

    def __init__(self, stratum: Stratum, epsilon: Real) -> None:
        self.n_records, self._epsilon = stratum.n_records, epsilon
        smallest = [cell.count for cell in stratum.by_size[:2]]
        self.pairs = worst_pairs(smallest) if smallest[0] >= 2 else []

    def pair(self, pair: tuple[int, int], n_draws: int) -> LogBounds:
        """Bound ln of one of the four hockey sticks."""
        if n_draws == 0:
            return LOG_ZERO
        if n_draws == self.n_records:
            return LogBounds(0.0, 0.0)
        mechanism = SamplingHistogram(self.n_records, n_draws=n_draws)
        found = mechanism.pair_divergence(*pair, self._epsilon)
        return LogBounds(found.lower, min(found.upper, mechanism.cap.logs.upper))

    def side(self, pair: tuple[int, int], n_draws: int, log_level: float) -> LogBounds:
        """Bound ln of one hockey stick, roughly where it is proved to lie below a level."""
        if 0 < n_draws < self.n_records:
            others = self.n_records - sum(pair)
            far = log_far_above(*pair, others, n_draws, self._epsilon)
            if far < log_level:
                return LogBounds(-math.inf, far)
        return self.pair(pair, n_draws)

    def delta(self, n_draws: int) -> LogBounds:
        """Bound ln delta(x)."""
        if n_draws == 0:
            return LOG_ZERO
        if not self.pairs:
            return log_bounds(Fraction(n_draws, self.n_records))
        first, *rest = self.pairs
        found = [self.pair(first, n_draws)]
        for pair in rest:
            # One that is below another in any case needs no walk.
            found.append(self.side(pair, n_draws, max(one.lower for one in found)))
        return largest(found)


def largest_draws(
    stratum: Stratum, *, epsilon: Real, target: Fraction, known: int = 0
) -> LargestDraws:
    """Return the largest number of draws that meets a target in (0, 1).

    One of the four hockey sticks is followed, the largest so far, to where it crosses the
    target; the others are looked at there, and followed if they are above.

    Args:
        stratum, epsilon, target: the question.
        known: a number of draws that is proved to meet the target in another way, as that of the
            table before cells were merged (proofs/designer#3); brackets may leave it open.
    """
    found = _followed(stratum, epsilon=epsilon, target=target)
    if found.n_draws >= known:
        return found
    at_known = CellsQuestion(stratum, epsilon).delta(known)
    # Which is at most the target, whatever the bracket says.
    logs = LogBounds(at_known.lower, min(at_known.upper, log_bounds(target).upper))
    return LargestDraws(known, logs, range(known + 1, max(known + 1, found.undecided.stop)))


def _followed(stratum: Stratum, *, epsilon: Real, target: Fraction) -> LargestDraws:
    question = CellsQuestion(stratum, epsilon)
    n = question.n_records
    if not question.pairs:
        # A cell of 0 or 1: delta(x) = T/n, in whole numbers.
        draws = math.floor(target * n)
        return LargestDraws(draws, question.delta(draws), range(0))
    aim = log_bounds(target)
    low, high, first_missed = 0, n, n
    left = list(question.pairs)
    start = max(1, n // 2)
    far = aim.lower + _FLAT
    left.sort(key=lambda pair: question.side(pair, start, far).upper, reverse=True)
    while left:
        pair = left.pop(0)
        low, first_missed = _crossing(question, pair, aim, high, first_missed)
        high = min(high, low + 1)
        # A pair that meets the target at the last crossing need not be followed.
        left = [one for one in left if question.side(one, low, aim.lower).upper > aim.lower]
    return LargestDraws(low, question.delta(low), range(low + 1, max(low + 1, first_missed)))


def _crossing(
    question: CellsQuestion, pair: tuple[int, int], aim: LogBounds, high: int, missed: int
) -> tuple[int, int]:
    """Return the largest T < high with a proved upper bound, and one that is proved too many.

    Secants, each halved where they come from one side twice (Illinois), and halves of the
    interval where that does not help. ``high`` is not known to meet the target, ``missed`` is
    known to miss it; so is what is returned, the least such number that was seen.
    """
    low, low_height, high_height = 0, _FLAT, -aim.lower
    top, same = high, 0
    while top - low > 1:
        step = -low_height / (high_height - low_height)
        guess = low + round(step * (top - low)) if abs(same) < 3 else (low + top) // 2
        tried = min(max(guess, low + 1), top - 1)
        found = question.side(pair, tried, aim.lower + _FLAT)
        if found.lower > aim.upper:
            missed = min(missed, tried)
        height = max(_FLAT, found.upper - aim.lower)
        if height <= 0:
            low, low_height = tried, min(height, -1e-12)
            same = same + 1 if same > 0 else 1
            high_height /= 2 if same > 1 else 1
        else:
            top, high_height = tried, height
            same = same - 1 if same < 0 else -1
            low_height /= 2 if same < -1 else 1
        if abs(same) >= 4:
            same = 0
    # Brackets leave open no more than their width.
    tried, step = top, 1
    while tried < missed:
        if question.pair(pair, tried).lower > aim.upper:
            missed = tried
        tried, step = tried + step, 2 * step
    return low, missed
