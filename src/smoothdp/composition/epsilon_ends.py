"""Both ends of an epsilon at once, from a guess: a few steps of Newton, then one past each end.

The guess comes from the saddle point: ln delta(e) is about

    K(c) - c e - ln(c (c + 1)) - ln(2 pi V) / 2,   V = K''(c) + 1 / c^2 + 1 / (c + 1)^2,

e = K'(c) - 1 / c - 1 / (c + 1), and falls by about c per unit of e. All that is returned is what
the certain bounds say of delta there: a bad guess costs time only.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import NamedTuple

from smoothdp.composition.laws.product import Product, short_tilt
from smoothdp.composition.routes.contour import Nearby
from smoothdp.exact.logspace.bounds import LogBounds
from smoothdp.exact.parameters.numbers import Real

# An end passes the root by this share of the width of the bracket.
_PAST = 1e-3
_MOST_STEPS = 12
_MOST_PADS = 8
_FIRST_TILT = 4.0
# What is quick has to be as sharp, and ln delta no further off.
_SHARP = 1e-6
_CLOSE = 1e-3
_FAR = 10.0
# Where no loss is tilted much.
_LOW_TILT = 2.0**-6


class Guess(NamedTuple):
    """About the epsilon that belongs to a delta, and the slope of -ln delta there."""

    epsilon: float
    slope: float


def likely_epsilon(product: Product, log_delta: float) -> Guess | None:
    """Return a guess by the saddle point; None where it makes no sense."""
    if not product.parts or product.largest <= 0:
        return None
    if product.log_infinite.upper > log_delta - 20.0:
        return None
    tilt, most = _FIRST_TILT, min(product.largest_tilt, 1e6)
    for _ in range(_MOST_STEPS):
        tilt = short_tilt(min(tilt, 0.98 * most))
        moments = product.moments(tilt)
        curve = moments.variance + tilt**-2 + (tilt + 1) ** -2
        epsilon = moments.mean - 1 / tilt - 1 / (tilt + 1)
        size = moments.log_mgf - tilt * epsilon - math.log(tilt * (tilt + 1))
        excess = size - 0.5 * math.log(2 * math.pi * curve) - log_delta
        move = excess / (tilt * tilt * curve)
        if abs(move) < 0.05:
            guess = epsilon + excess / tilt
            return Guess(guess, tilt) if 0 < guess < min(1e6, 0.9 * product.largest) else None
        tilt *= math.exp(max(-1.5, min(1.5, move)))
    return None


def normal_epsilon(product: Product, log_delta: float) -> Guess | None:
    """Return a guess as if the sum were normal, of the variance where no loss is tilted much.

    With v its standard deviation and x = epsilon / v, delta is about
    v e^(-x^2 / 2) / (sqrt(2 pi) x^2).
    """
    deviation = math.sqrt(product.moments(_LOW_TILT).variance)
    if not deviation > 0:
        return None
    x = 1.0
    for _ in range(_MOST_STEPS):
        square = math.log(deviation) - log_delta - 0.5 * math.log(2 * math.pi) - 2 * math.log(x)
        if square <= 0.5:
            return None
        x = math.sqrt(2 * square)
    return Guess(deviation * x, x / deviation)


def one_loss_epsilon(curve: Callable[[Real], float], log_delta: float) -> Guess | None:
    """Return a guess where one large loss is what makes the sum large: the sum of all curves.

    Args:
        curve: about ln of the sum of the deltas of the items, each alone.
        log_delta: ln of the delta that is asked for.
    """

    def excess(log_epsilon: float) -> float:
        return curve(Fraction(math.exp(log_epsilon))) - log_delta

    if curve(Fraction(0)) <= log_delta:
        return None
    high, at_high = 0.0, excess(0.0)
    way = 1.0 if at_high > 0 else -1.0
    low, at_low = high, at_high
    for _ in range(_MOST_STEPS):
        low, at_low = high, at_high
        high = low + 1.5 * way
        at_high = excess(high)
        if (at_high > 0) != (at_low > 0):
            break
    else:
        return None
    for _ in range(_MOST_STEPS):
        if not math.isfinite(at_high) or not math.isfinite(at_low):
            return None
        share = min(0.9, max(0.1, at_low / (at_low - at_high)))
        middle = low + share * (high - low)
        at_middle = excess(middle)
        if abs(at_middle) < 0.05:
            slope = (at_high - at_low) / (math.exp(low) - math.exp(high))
            return Guess(math.exp(middle), slope) if slope > 0 else None
        if (at_middle > 0) == (at_low > 0):
            low, at_low = middle, at_middle
        else:
            high, at_high = middle, at_middle
    return None


def ends_near(
    bounds: Callable[[Real], LogBounds], goal: LogBounds, guess: Guess, *, near: float = math.inf
) -> tuple[float | None, float | None]:
    """Return (lower, upper): delta is certainly above the goal at one, below it at the other.

    Args:
        bounds: certain bounds of ln delta.
        goal: bounds of ln of the delta that is asked for.
        guess: where to begin.
        near: give up where ln delta at the guess is off by more.

    Either is None if no certain number was found nearby.
    """

    middle, slope = 0.5 * (goal.lower + goal.upper), guess.slope
    # In between, floats count as the binary fractions that they are: one query each.
    here, found = guess.epsilon, bounds(Fraction(guess.epsilon))
    for _ in range(_MOST_STEPS):
        width = found.upper - found.lower
        excess = 0.5 * (found.lower + found.upper) - middle
        if not math.isfinite(width) or abs(excess) > near:
            return None, None
        near = math.inf
        if abs(excess) <= max(0.05 * width, 1e-14):
            break
        following = here + excess / slope
        if not 0 < following < 4 * here + 4:
            return None, None
        after = bounds(Fraction(following))
        change = found.upper - after.upper
        # Brackets shift along with the curve: what counts is by how much their widths differ.
        loose = abs(after.upper - after.lower - width) + 1e-11
        if abs(excess) > 100 * loose and following != here and math.isfinite(change):
            secant = change / (following - here)
            slope = min(max(secant, 0.25 * slope), 4 * slope)
        here, found = following, after
    else:
        return None, None
    return _settled(bounds, goal, Guess(here, slope), found)


def ends_beside(
    bounds: Callable[[Real], LogBounds],
    goal: LogBounds,
    guess: Guess,
    near: Callable[[float], Callable[[float], Nearby] | None],
) -> tuple[float | None, float | None]:
    """Return what `ends_near` does: the root by a function that is quick, then one query an end.

    ``near`` returns such a function, good close to an epsilon. It is no bound: an end that it
    misses is None.
    """
    middle, here = 0.5 * (goal.lower + goal.upper), guess.epsilon
    quick = near(here)
    for _ in range(_MOST_STEPS):
        if quick is None:
            return None, None
        found, slope, bend = quick(here)
        width = found.upper - found.lower
        excess = 0.5 * (found.lower + found.upper) - middle
        if not width < _SHARP or not abs(excess) < _FAR or not slope < 0:
            return None, None
        # The root of the parabola through here, which is off by about the cube of the excess.
        root = slope * slope - 2 * excess * bend
        step = 2 * excess / (math.sqrt(root) - slope) if root > 0 else -excess / slope
        if here + step <= 0:
            return None, None
        here += step
        if abs(excess) < _CLOSE and abs(excess) ** 3 <= 1e-3 * width:
            settled = near(here)
            if settled != quick:
                # The certain bounds come from another contour there: as sharp as that one.
                quick = settled
                continue
            about = LogBounds(middle - 0.5 * width, middle + 0.5 * width)
            return _settled(bounds, goal, Guess(here, -slope), about, most=2)
        if abs(excess) > 1.0:
            # So far off another is better.
            quick = near(here)
    return None, None


def _settled(
    bounds: Callable[[Real], LogBounds],
    goal: LogBounds,
    root: Guess,
    found: LogBounds,
    *,
    most: int = _MOST_PADS,
) -> tuple[float | None, float | None]:
    """Return certain ends on both sides of a root at which bounds are about as found."""

    def at(epsilon: float, way: float) -> LogBounds:
        # A float counts as its decimal, which lies beyond the next float on the inner side: delta
        # falls, so what is certain there is certain at the decimal, and takes one query.
        return bounds(Fraction(math.nextafter(epsilon, -way)))

    here, slope = root
    width = found.upper - found.lower
    least = 3 * math.ulp(here)
    lower = upper = None
    above = max(found.upper - goal.lower, 0.0) / slope + _PAST * width / slope
    below = max(goal.upper - found.lower, 0.0) / slope + _PAST * width / slope
    for pad in range(most):
        far = least * 4**pad + above * (1 + _PAST * (4**pad - 1))
        if at(here + far, math.inf).upper <= goal.lower:
            upper = here + far
            break
    for pad in range(most):
        far = least * 4**pad + below * (1 + _PAST * (4**pad - 1))
        if here - far <= 0:
            break
        if at(here - far, -math.inf).lower >= goal.upper:
            lower = here - far
            break
    return lower, upper
