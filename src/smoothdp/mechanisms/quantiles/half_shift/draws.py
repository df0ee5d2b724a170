"""The half shift is drawn here, used here, and leaves nowhere: what comes out is sealed."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from smoothdp.exact.random.discrete_gaussian import discrete_gaussian
from smoothdp.exact.random.entropy import Entropy
from smoothdp.queries.many.half_shift import HalfShiftColumn, HalfShiftWindow
from smoothdp.queries.read_arguments import Bounds, Values
from smoothdp.queries.statistic import PrivateSummary


def shifted_summaries(
    values: Values,
    bounds: Bounds,
    windows: Sequence[HalfShiftWindow],
    *,
    shift_variance: Fraction,
    rng: Entropy,
) -> list[PrivateSummary]:
    """Return value and sensitivity of every window at one hidden half shift: sealed.

    The half shift is as private as the data: with it the values tell more than is promised
    (proofs/half-shift#2).
    """
    half_shift = discrete_gaussian(shift_variance, rng)
    column = HalfShiftColumn(values, bounds)
    column.arrange([(window, half_shift) for window in windows])
    return [column.summary(window, half_shift) for window in windows]
