"""Sensitivities of a window mean of unbounded inputs whose value is clamped to [a, b].

A_k = min(U_k, G_k): U_k is the local sensitivity at distance k of the mean as it is, infinite
once k replacements reach an end of the data (k >= min(lo, hi)); G_k is the supremum of
max(b - f, f - a) over all databases at distance k, f the clamped mean:

    G_k = max(b - [mean of x_(lo+1-k..n-hi-k)], [mean of x_(lo+1+k..n-hi+k)] - a).

Both can only grow from x at distance k to a neighbour at distance k + 1, so their minimum does,
and both bound the change of f at k = 0: S = max_k e^(-t k) A_k is t-smooth and above the local
sensitivity. (min(U_k, b - a) for k < m with the G of k >= m only beyond is not t-smooth.)

G_k lies between (b - a)/2 and b - a. So U_k counts alone until it exceeds (b - a)/2, and after
that only distances within ln(2)/t matter (proofs/truncated-output#1).

Source: proofs/windows-around-the-rank#5; paper 2, Lemma 50, for the setting
(proofs/truncated-output#3); errors with noise: proofs/trimmed-mean-errors#3, #5.
"""

from __future__ import annotations

import math
import sys
from fractions import Fraction

from smoothdp.exact.balls.balls import log_bounds
from smoothdp.queries.read_arguments import Bounds, Values
from smoothdp.queries.sensitivity.candidates import (
    Candidate,
    exact_candidates,
    largest,
    largest_within,
    log_decayed,
)
from smoothdp.queries.sensitivity.near_maxima import near_maxima
from smoothdp.queries.windows.selected import Selected, first_reach, first_true, needed_reach

_UNBOUNDED = (Fraction(-(2**1023)), Fraction(2**1023))


class ClampedOutput:
    """The clamped window mean at one database: its value and its A_k, exactly.

    As private as the data.
    """

    def __init__(self, values: Values, drops: tuple[int, int], bounds: Bounds) -> None:
        self._selected = Selected(values, drops, _UNBOUNDED)
        self._bounds = bounds
        self._finite = min(drops)
        self._means: dict[int, Fraction] = {}

    @property
    def n_records(self) -> int:
        """n."""
        return self._selected.n_records

    def value(self) -> Fraction:
        """Return the statistic, exactly."""
        return self._clamped(self._mean(0))

    def at(self, distance: int) -> Fraction:
        """Return A_k at a distance, exactly: at least the local sensitivity there."""
        room = self._room(distance)
        return room if distance >= self._finite else min(room, self._unclamped(distance))

    def saturation(self) -> int:
        """Return the least distance at which A_k is as large as it gets: b - a."""
        full = self._bounds[1] - self._bounds[0]
        return first_true(lambda k: self.at(k) == full, self._finite + 1)

    def largest(self, rate: Fraction, *, within: int = sys.maxsize) -> Candidate:
        """Return (k, A_k) with the largest e^(-rate k) A_k, exactly.

        Args:
            rate: the smoothing t > 0.
            within: a distance beyond which the maximiser probably is not.
        """
        full = self._bounds[1] - self._bounds[0]
        reach = min(first_reach(self._selected.n_records, rate), self._finite, within + 1)
        while True:
            self._selected.arrange(reach, inward=reach)
            # The first distance at which U_k exceeds half the range, as far as we look.
            turn = first_true(lambda k: 2 * self._unclamped(k) > full, reach)
            candidates = self._before(turn, rate)
            if turn < reach or reach == self._finite:
                candidates.append(self._after(turn, rate))
                return largest(candidates, rate)
            needed = sys.maxsize
            if candidates:
                log_best = log_decayed(largest(candidates, rate), rate).lower
                needed = needed_reach(log_bounds(full).upper, log_best, rate)
            if needed <= reach:
                return largest(candidates, rate)
            reach = min(needed, self._finite)

    def _before(self, turn: int, rate: Fraction) -> list[Candidate]:
        """Return the best distances below the turn, where A_k = U_k; none if all are 0."""
        if turn == 0:
            return []
        sides = self._selected.sides(turn)
        pairs = near_maxima(sides, float(rate), most=turn)
        if pairs.best == -math.inf:
            return []
        candidates = exact_candidates(sides, pairs.low, pairs.high)
        return [(k, difference / self._selected.width) for k, difference in candidates]

    def _after(self, turn: int, rate: Fraction) -> Candidate:
        """Return the best distance from the turn on.

        A_k does not fall, so that the distances from first to last are out if A at the last is
        too small for the first; else they are halved.
        """
        last = min(self._finite + 1, turn + math.ceil(min(Fraction(self._finite + 1), 1 / rate)))
        reach = min(last, self._finite)
        self._selected.arrange(reach, inward=reach)
        best = max(
            ((k, self.at(k)) for k in {turn, last}), key=lambda c: log_decayed(c, rate).lower
        )
        spans = [(turn, last)]
        while spans:
            first, last = spans.pop()
            limit = log_decayed((first + 1, self.at(last)), rate).upper
            if last - first < 2 or limit < log_decayed(best, rate).lower:
                continue
            middle = (first + last) // 2
            best = largest([best, (middle, self.at(middle))], rate)
            spans += [(middle, last), (first, middle)]
        return best

    # ---- the two factors ---------------------------------------------------------------

    def _unclamped(self, distance: int) -> Fraction:
        """Return U_k for a distance below both numbers of dropped values."""
        sides = self._selected.sides(distance + 1)
        return largest_within(sides, distance) / self._selected.width

    def _room(self, distance: int) -> Fraction:
        """Return G_k."""
        lower, upper = self._bounds
        if distance > self._finite:
            return upper - lower
        low, high = self._clamped(self._mean(-distance)), self._clamped(self._mean(distance))
        return max(upper - low, high - lower)

    def _clamped(self, mean: Fraction) -> Fraction:
        lower, upper = self._bounds
        return min(max(mean, lower), upper)

    def _mean(self, shift: int) -> Fraction:
        """Return the mean of the window moved by some ranks, exactly."""
        if shift not in self._means:
            reach = abs(shift)
            self._selected.arrange(reach, inward=reach)
            n, (lo, hi) = self._selected.n_records, self._selected.drops
            between = self._selected.sum_between
            if shift == 0:
                total = between(lo, n - hi)
            elif shift > 0:
                total = between(n - hi, n - hi + reach) - between(lo, lo + reach)
            else:
                total = between(lo - reach, lo) - between(n - hi - reach, n - hi)
            mean = total / self._selected.width
            self._means[shift] = mean if shift == 0 else self._mean(0) + mean
        return self._means[shift]
