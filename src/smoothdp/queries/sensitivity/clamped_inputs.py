"""Sensitivities of the mean of a window of order statistics, inputs clamped to bounds."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from fractions import Fraction

from smoothdp.exact.balls.balls import log_bounds
from smoothdp.queries.read_arguments import Bounds, Values
from smoothdp.queries.sensitivity.candidates import (
    Candidate,
    exact_candidates,
    largest,
    largest_within,
)
from smoothdp.queries.sensitivity.near_maxima import near_maxima
from smoothdp.queries.windows.column_summary import ColumnSummary
from smoothdp.queries.windows.selected import Selected, first_reach, needed_reach
from smoothdp.queries.windows.sides import Sides


class ClampedInputs:
    """The window statistic at one database: its value and its local sensitivities, exactly.

    Local sensitivity at distance k: max over p + q = k + 1 of (u_q - v_p) / width (see
    `smoothdp.queries.windows.sides`), for every window. As private as the data.

    Source: paper 2, Proposition 40; asymmetric windows:
    proofs/windows-around-the-rank#3, #4; errors with noise: proofs/trimmed-mean-errors#6, #7.
    """

    def __init__(
        self, values: Values | ColumnSummary, drops: tuple[int, int], bounds: Bounds
    ) -> None:
        self._selected: Selected | ColumnSummary
        if isinstance(values, ColumnSummary):
            values.check(drops, bounds)
            self._selected = values
        else:
            self._selected = Selected(values, drops, bounds)
        self._full_reach = max(drops) + 1
        self._log_range = log_bounds(bounds[1] - bounds[0]).upper
        self._furthest = sum(drops) + 1
        self._bounds = bounds

    @property
    def n_records(self) -> int:
        """n."""
        return self._selected.n_records

    def value(self) -> Fraction:
        """Return the statistic, exactly."""
        return self._selected.mean()

    def at(self, distance: int) -> Fraction:
        """Return the local sensitivity at a distance, exactly."""
        if distance >= self._furthest:
            lower, upper = self._bounds
            return (upper - lower) / self._selected.width
        sides = self._selected.sides(min(distance + 1, self._full_reach))
        return largest_within(sides, distance) / self._selected.width

    def saturation(self) -> int:
        """Return the least distance at which the local sensitivity is as large as it gets."""
        low, high = self._selected.sides(self._full_reach)
        return max(0, int(low.steps[-1] + high.steps[-1]) - 1)

    def _beyond_ties(self, selected: Selected) -> tuple[Callable[[int], Sides], int]:
        """Return the sides with the ties at the window's ends left out, and how many ranks.

        Where all values within reach are one value, the next ones are found by counting. A side
        that is tied at its own bound never gains, and does not matter.
        """
        steps = selected.first_steps()
        low, high = selected.clamp.bounds
        tied = selected.sides(0).low.exact(0)
        first = min(step for step, end in zip(steps, (low, high), strict=True) if end != tied)
        return lambda reach: selected.beyond_ties(reach, steps), first - 1

    def largest(self, rate: Fraction, *, within: int = sys.maxsize) -> Candidate:
        """Return (k, LS_k) with the largest e^(-rate k) LS_k, exactly.

        Args:
            rate: the smoothing t > 0.
            within: a distance beyond which the maximiser surely is not, if one is known.
        """
        most = min(self._full_reach, within + 1)
        reach = min(first_reach(self._selected.n_records, rate), most)
        sides = self._selected.sides(reach)
        pairs = near_maxima(sides, float(rate))
        take: Callable[[int], Sides] = self._selected.sides
        skipped = 0
        if pairs.best == -math.inf and reach < most and isinstance(self._selected, Selected):
            take, skipped = self._beyond_ties(self._selected)
            sides = take(reach)
            pairs = near_maxima(sides, float(rate))
        while True:
            needed = min(needed_reach(self._log_range, pairs.best, rate), most) - skipped
            if needed <= reach:
                break
            reach = needed
            sides = take(reach)
            pairs = near_maxima(sides, float(rate))
        k, difference = largest(exact_candidates(sides, pairs.low, pairs.high), rate)
        return k, difference / self._selected.width
