"""Window, smoothing and law of each value of a half-shift release: rules that see no data.

With e = sqrt(2 rho) of one value's part, side the number of values on the shorter side of the
rank and R the width of the bounds in spreads (taken as 1e5):

    w = odd(min(.3 side, 6 / e)),    t = max(.17 - .2 e, .03 e, ln(R n / w) / (2 side - w)),

at most .6 e; where 2 side <= w, t = .6 e. k shifts move an end by k / 2 ranks: so the bounds
enter at twice the distance of a window of whole ranks. Any public w and t keep the guarantee.

Source: constants chosen by search, measured by `python -m benchmarks.quantiles`;
docs/decisions/0019-quantiles-by-half-shifts.
"""

from __future__ import annotations

import math
from fractions import Fraction

from smoothdp.claims.guarantees.guarantee import Guarantee
from smoothdp.exact.balls.work import limited
from smoothdp.mechanisms.release.defaults import (
    BOUNDS_IN_SPREADS,
    LARGEST_SMOOTHING,
    Rule,
    default_family,
)
from smoothdp.noise.calibration import Calibration, best_shape
from smoothdp.noise.calibration.limits import MOST_WORK, too_much_work
from smoothdp.noise.law import NoiseDistribution
from smoothdp.queries.many.half_shift import HalfShiftWindow, default_reach
from smoothdp.queries.many.half_shifted import HalfShifted

_WINDOW, _LEAST, _SLOPE, _FLOOR, _MOST = 6.0, 0.17, 0.2, 0.03, 0.6


def default_window(query: HalfShifted, part: Guarantee, n_records: int) -> HalfShiftWindow:
    """Return window and smoothing for a value that keeps a part of the guarantee.

    >>> from smoothdp.claims import ZCDP
    >>> from smoothdp.queries import Median
    >>> default_window(Median((0, 1)), ZCDP("1/4"), 1001)
    HalfShiftWindow(centre=1002, width=7, smoothing=Fraction(143, 5000), reach=1399)
    """
    rule = Rule.of(part)
    e = rule.epsilon
    centre = query.doubled_rank(n_records)
    # Twice the number of values on the shorter side of the rank.
    room = min(centre - 2, 2 * n_records - centre)
    width = max(1, (math.floor(min(0.15 * room, _WINDOW / e)) - 1) // 2 * 2 + 1)
    most = min(_MOST, rule.most) * e
    t = most
    if room > width:
        jump = math.log(BOUNDS_IN_SPREADS * n_records / width) / (room - width)
        t = min(most, max(_LEAST - _SLOPE * e, _FLOOR * e, jump))
    smoothing = Fraction(f"{min(t, LARGEST_SMOOTHING):.3g}")
    return HalfShiftWindow(centre, width, smoothing, default_reach(smoothing))


def calibrated(part: Guarantee, smoothing: Fraction) -> Calibration[NoiseDistribution]:
    """Return the law of a value's noise, as `smoothdp.release` chooses it, and its scale."""
    family = default_family(part, smoothing)
    with limited(MOST_WORK, lambda: too_much_work(family, part, smoothing)):
        law: NoiseDistribution = best_shape(family, part, smoothing=smoothing)
        return law.calibrate(part, smoothing=smoothing)
