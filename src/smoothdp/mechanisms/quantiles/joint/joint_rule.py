"""Joint PolyPlace noise or the joint exponential mechanism: by public parameters alone."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Literal, TypeAlias

from smoothdp.claims.guarantees.guarantee import Guarantee
from smoothdp.mechanisms.quantiles.joint.arguments import epsilon_below, read_levels, read_pure
from smoothdp.mechanisms.quantiles.joint.poly_place_quantiles import JointPolyPlaceQuantiles
from smoothdp.mechanisms.quantiles.joint.sized_exponential import SizedExponentialQuantiles
from smoothdp.mechanisms.quantiles.joint.window_rule import fitting_windows
from smoothdp.noise.joint.joint_poly_place import JointPolyPlace

Choice: TypeAlias = Literal["poly_place", "exponential"]
PureMechanism: TypeAlias = JointPolyPlaceQuantiles | SizedExponentialQuantiles


def joint_rule(levels: object, *, n_records: int, guarantee: Guarantee) -> Choice:
    """Return which of the two has the smaller error in ranks where gaps are equal.

    Joint PolyPlace noise: the root of Var Z_j + w / 12, the noise and what a window of w values
    misses, if the window rule has windows at all. Exponential mechanism: the root of
    (8/3)(2m + 1) / epsilon^2, the walk of m + 1 Laplace steps that returns to 0
    (proofs/joint-quantiles#10).

    Measured (``python -m benchmarks.joint_quantiles``, evenly spaced levels, epsilon = 1, normal,
    log-normal and T(3) data, bounds 1e5 wide): joint noise is chosen up to m = 3 from n = 1,000 on,
    m = 4 from 2,000, 7 from 5,000, 9 from 10,000 and 12 from 100,000; the choice is within
    1.15 of the better one in hindsight. It goes by about epsilon n, and by the levels. Deciles at
    n = 10,000 are 2.3 to 2.4 times more accurate than nine releases of windows at epsilon / 9.

    What it cannot see: the data. Where values repeat, as ages in whole years do, smooth
    sensitivities fall below any gap, and joint noise is better than the rule thinks; the
    exponential mechanism never returns the repeated value itself unless it is rounded to it.

    Args:
        levels: rising, between 0 and 1. n_records: public. guarantee: PureDP.

    >>> from smoothdp.claims import PureDP
    >>> deciles = [k / 10 for k in range(1, 10)]
    >>> joint_rule(deciles, n_records=1_000, guarantee=PureDP(1))
    'exponential'
    >>> joint_rule(deciles, n_records=10_000, guarantee=PureDP(1))
    'poly_place'
    """
    found, pure = read_levels(levels), read_pure(guarantee)
    windows = fitting_windows(found, n_records, epsilon_below(pure))
    if windows is None:
        return "exponential"
    m = len(found)
    calibration = JointPolyPlace(m).calibrate(pure, smoothing=windows.smoothings)
    joint = calibration.variance + sum(windows.widths) / (12 * m)
    exponential = 8 * (2 * m + 1) / 3 / pure.epsilon**2
    return "poly_place" if joint <= exponential and math.isfinite(joint) else "exponential"


def pure_mechanism(
    levels: object,
    bounds: object,
    n_records: int,
    guarantee: Guarantee,
    step: Fraction | int | None = None,
) -> PureMechanism:
    """Return the mechanism that `joint_rule` chooses, for n records and a grid of values.

    Args:
        levels: rising, between 0 and 1. bounds: (a, b). n_records: public.
        guarantee: PureDP about replacing one record.
        step: of the grid of values, > 0; None: by rule, without the data.

    Raises:
        InvalidParameter: an argument outside its domain.
        IncompatibleClaims: a guarantee about adding or removing a record.
        OutOfReach: more records and levels than the exponential mechanism is computed for.

    >>> from smoothdp.claims import PureDP
    >>> type(pure_mechanism(["1/2"], (0, 1), 9, PureDP(1))).__name__
    'SizedExponentialQuantiles'
    """
    choice = joint_rule(levels, n_records=n_records, guarantee=guarantee)
    made: type[PureMechanism] = (
        JointPolyPlaceQuantiles if choice == "poly_place" else SizedExponentialQuantiles
    )
    return made.calibrate(
        levels, bounds=bounds, guarantee=guarantee, n_records=n_records, step=step
    )
