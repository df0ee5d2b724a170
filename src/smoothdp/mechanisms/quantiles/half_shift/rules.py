"""Window, smoothing and law of each value of a half-shift release: rules that see no data.

With e = sqrt(2 rho) of one value's part, side the number of values on the shorter side of the
rank and R the width of the bounds in spreads (taken as 1e5):

    w = odd(min(.3 side, max(5.1 / e, 9 / e - 12)))
    t = max(1.05 / w, ln(R n / w) / (2 side - w)),

at most .6 e; where 2 side <= w, t = .6 e. At equal gaps e^(-t k) A_k is largest at k = 0 if
t w >= 1: a smaller t makes S larger. k shifts move an end by k / 2 ranks: so the bounds enter at
twice the distance of a window of whole ranks.

With intervals w = odd(min(.3 side, 2 / e)) and t >= .25 e: a theta at the far end of a window is
covered too; for the population, whose quantile is sqrt(n q (1 - q)) ranks away, w = odd(5 / e)
and t >= 1 / (4 sqrt(n q (1 - q))). Under Gaussian DP e is the epsilon of the pure DP of a part,
w = odd(10 / e), and t is from .08 e to .32 e. Any public w and t keep the guarantee.

Source: constants chosen by search, measured by `python -m benchmarks.half_shift`;
docs/decisions/0019-quantiles-by-half-shifts.
"""

from __future__ import annotations

import math
from fractions import Fraction

from smoothdp.claims.guarantees.guarantee import Guarantee
from smoothdp.claims.terms import EpsilonTerms
from smoothdp.mechanisms.quantiles.half_shift.budget import split
from smoothdp.mechanisms.release.defaults import (
    BOUNDS_IN_SPREADS,
    LARGEST_SMOOTHING,
    Rule,
    default_family,
)
from smoothdp.mechanisms.release.statistic_words import clamped_words
from smoothdp.noise.calibration import Calibration, best_shape
from smoothdp.noise.calibration.limits import default_work
from smoothdp.noise.law import NoiseDistribution
from smoothdp.queries import Median, Quantile
from smoothdp.queries.many.half_shift import HalfShiftWindow, default_reach
from smoothdp.queries.many.half_shifted import HalfShifted
from smoothdp.queries.many.quantiles import level_text

_NARROW, _WIDE, _LESS = 5.1, 9.0, 12.0
_LEAST, _MOST = 1.05, 0.6
_BARS_WINDOW, _BARS_LEAST = 2.0, 0.25
_PURE_WINDOW, _PURE_LEAST = 10.0, 0.08
_SAMPLE_WINDOW = 5.0


def default_window(
    query: HalfShifted,
    part: Guarantee,
    n_records: int,
    *,
    has_bars: bool = False,
    population: bool = False,
) -> HalfShiftWindow:
    """Return window and smoothing for a value that keeps a part of the guarantee.

    >>> from smoothdp.claims import ZCDP
    >>> from smoothdp.queries import Median
    >>> default_window(Median((0, 1)), ZCDP("1/4"), 1001)
    HalfShiftWindow(centre=1002, width=7, smoothing=Fraction(3, 20), reach=267)
    """
    rule = Rule.of(part)
    e = rule.epsilon
    centre = query.doubled_rank(n_records)
    # Twice the number of values on the shorter side of the rank.
    room = min(centre - 2, 2 * n_records - centre)
    is_pure = isinstance(part.terms(), EpsilonTerms)
    longest = max(_NARROW / e, _WIDE / e - _LESS)
    if has_bars or is_pure:
        longest = (_BARS_WINDOW if has_bars else _PURE_WINDOW) / e
    if population:
        longest = _SAMPLE_WINDOW / e
    width = max(1, (math.floor(min(0.15 * room, longest)) - 1) // 2 * 2 + 1)
    least = _LEAST / width
    if has_bars or is_pure:
        least = (_PURE_LEAST if is_pure else _BARS_LEAST) * e
    if population:
        # The centre is 2 q n but for a cell or two.
        share = min(max(centre, 1), 2 * n_records - 1) / (2 * n_records)
        least = 0.25 / math.sqrt(n_records * share * (1 - share))
    most = min(_MOST, rule.most) * e
    t = most
    if room > width:
        jump = math.log(BOUNDS_IN_SPREADS * n_records / width) / (room - width)
        t = min(most, max(least, jump))
    smoothing = Fraction(f"{min(t, LARGEST_SMOOTHING):.3g}")
    return HalfShiftWindow(centre, width, smoothing, default_reach(smoothing))


def calibrated(
    part: Guarantee, smoothing: Fraction, *, whole: Guarantee | None = None
) -> Calibration[NoiseDistribution]:
    """Return the law of a value's noise, as `smoothdp.release` chooses it, and its scale.

    Args:
        part: what the noise keeps. whole: what was asked for, for the words of a refusal.
    """
    family = default_family(part, smoothing)
    with default_work(part if whole is None else whole, part):
        law: NoiseDistribution = best_shape(family, part, smoothing=smoothing)
        return law.calibrate(part, smoothing=smoothing)


def shifted_words(query: Median | Quantile, guarantee: Guarantee, n_records: int) -> str:
    """Return which statistic a half-shift release of one quantile gives, in words.

    >>> from smoothdp.claims import ZCDP
    >>> shifted_words(Median((0, 9)), ZCDP("1/2"), 1001)
    'the mean of 7 ranks around the median, moved by a hidden number of half ranks; each value \
clamped to [0, 9]'
    """
    window = default_window(query, split(guarantee, 1, has_bars=False).part, n_records)
    ranks = "1 rank" if window.width == 1 else f"{window.width} ranks"
    named = "the median" if isinstance(query, Median) else f"the {level_text(query.q)} quantile"
    around = "at" if window.width == 1 else "around"
    return (
        f"the mean of {ranks} {around} {named}, moved by a hidden number of half ranks; "
        f"{clamped_words(query)}"
    )
