"""A grid pair: laws above and below a mechanism of which only delta(epsilon) is known.

D(E) = delta(ln E) is convex for E >= 1, and D(E) = 1 - E + E D(1/E) below, as a profile
covers both directions. Its law is then fixed by the P-masses p(l) of losses l > 0: p(-l) =
e^-l p(l), and the rest is at l = 0.

above: connect the dots. The chords of upper bounds of D, made convex, lie above D.
below: beyond its cell every chord lies below D. In each cell the two neighbouring chords,
    extended, bound D from below and meet in a point; the convex hull of these points lies
    below D.

Points are placed at equal steps of ln delta, which for k points from delta = 1 down to d
costs a relative (ln(1/d) / k)^2 / 8 above (D'' / D is about the square of the decay).
Beyond the last point the upper law sends all that is left to infinity, the lower one drops
it. A relative factor of D on E >= 1 is one on all E.

Values of D(E) = sum (p - E q)_+ are taken at many points by sums of positive terms.

Between neighbouring losses D is linear with slope -Q(L > l), so from the largest loss down
D(E_i) = D(E_i+1) + (E_i+1 - E_i) Q(L > l_i): nothing cancels.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from smoothdp.claims.curves.atoms import log_cumulative
from smoothdp.claims.curves.profile import PrivacyProfile
from smoothdp.composition.laws.atoms import AtomsLaw
from smoothdp.composition.laws.law import LossBracket, Slack
from smoothdp.exact.logspace.bounds import LIBM_ERROR, LOG_ZERO, UNIT_ROUNDOFF, LogBounds
from smoothdp.types import FloatArray, IntArray


def log_sticks(
    log_masses: FloatArray, losses: FloatArray, log_infinite: float, at: FloatArray
) -> tuple[FloatArray, FloatArray, float]:
    """Return ln D and ln Q(L > l) at increasing losses ``at``, and an absolute error of both.

    Args:
        log_masses, losses: the law of the loss under P; floats taken as exact.
        log_infinite: ln P(L = inf), -inf if none.
        at: increasing; holds every loss.
    """
    order = np.argsort(losses, kind="stable")
    log_q = (log_masses - losses)[order]
    sorted_losses = losses[order]
    running, first_error = log_cumulative(log_q[::-1])
    # The mass of Q strictly above each point.
    above = np.searchsorted(sorted_losses, at, side="right")
    padded = np.concatenate([[-math.inf], running])
    log_tail = padded[losses.size - above]
    widths = np.diff(at)
    with np.errstate(divide="ignore"):
        log_widths = at[1:] + np.log(-np.expm1(-widths))
    terms = np.concatenate([log_widths + log_tail[:-1], [log_infinite]])
    values, second_error = log_cumulative(terms[::-1])
    size = _largest(log_masses) + 2 * _largest(losses) + 4 * _largest(at)
    size += _largest(log_tail) + _largest(terms)
    error = first_error + second_error + 4 * UNIT_ROUNDOFF * size
    error += 3 * LIBM_ERROR * (1 + _largest(log_widths - at[1:]))
    # A width is rounded relatively, which moves ln(1 - e^-width) by at most u.
    error += 2 * UNIT_ROUNDOFF
    return values[::-1], log_tail, error


def _largest(values: FloatArray) -> float:
    return float(np.abs(values[np.isfinite(values)]).max(initial=0.0))


_FARTHEST = 1e6
FAR = 1e15
"""What delta is at this epsilon counts as mass at infinity, on the lower side.

An atom of loss FAR in its place lies below the true D, and composed with anything it differs
from infinity by at most e^(epsilon - FAR) E[e^-S] <= e^(epsilon - FAR), S the other losses.
`FAR_QUERY` keeps that below e^(-9e14).
"""
FAR_QUERY = 1e14
_DEEPEST = -1e7
"""What lies deeper is dropped, on the lower side.

Sums are rounded relatively to their largest logarithm: one of -8e30 would leave nothing certain.
"""


class Knots(NamedTuple):
    """Losses 0 = l_0 < l_1 < ..., and bounds of ln delta there."""

    losses: FloatArray
    lower: FloatArray
    upper: FloatArray


def grid_pair(
    profile: PrivacyProfile,
    *,
    log_depth: float,
    n_points: int,
    progress: Callable[[int, int], None] | None = None,
) -> LossBracket:
    """Return laws above and below a profile, good down to ln delta = ``log_depth``."""
    knots = sampled_knots(profile, log_depth=log_depth, n_points=n_points, progress=progress)
    return LossBracket(upper_law(knots), _lower_law(knots, _bounds(profile, FAR).lower))


def sampled_knots(
    profile: PrivacyProfile,
    *,
    log_depth: float,
    n_points: int,
    progress: Callable[[int, int], None] | None = None,
) -> Knots:
    """Return bounds of a profile at losses between which ln delta falls by equal steps, about.

    delta that has stopped falling, up to 1e-9 of it, is mass at infinity: no knots beyond.
    """
    # delta falls: a bound nearer by may be the sharper one where a profile is not followed so far.
    far = min(_bounds(profile, loss).upper for loss in (FAR, _FARTHEST, 1e4, 1e2))
    return _sample(profile, max(log_depth, far + 1e-9), n_points, progress)


def convex_points(losses: FloatArray, logs: FloatArray) -> tuple[IntArray, FloatArray]:
    """Return the points of the greatest convex minorant, and ln of the change of slope at each."""
    points = _hull(losses, logs)
    return points, _slope_changes(losses[points], logs[points])


def _bounds(profile: PrivacyProfile, loss: float) -> LogBounds:
    bounds = profile.log_delta_bounds(Fraction(loss))
    return LogBounds(bounds.lower, min(0.0, bounds.upper))


def _sample(
    profile: PrivacyProfile,
    log_depth: float,
    n_points: int,
    progress: Callable[[int, int], None] | None,
) -> Knots:
    """Evaluate the profile where ln delta has fallen by equal steps, about."""
    points: dict[float, LogBounds] = {0.0: _bounds(profile, 0.0)}
    top = points[0.0].upper
    if top <= log_depth:
        return Knots(np.zeros(1), np.array([points[0.0].lower]), np.array([top]))
    end = _end(profile, log_depth, points)
    goal = top - max(log_depth, points[end].upper)
    step = 1.5 * max(goal, 1e-9) / n_points
    waiting = [(0.0, end)]
    done = 0
    while waiting:
        left, right = waiting.pop()
        fall = points[left].upper - max(points[right].upper, log_depth - 2.0)
        width = right - left
        if (fall <= step and width <= end / 16) or width <= 1e-9 * max(end, 1e-300):
            continue
        if len(points) > 4 * n_points:
            break
        middle = 0.5 * (left + right)
        if not left < middle < right:
            continue
        points[middle] = _bounds(profile, middle)
        waiting += [(middle, right), (left, middle)]
        done += 1
        if progress is not None and done % 64 == 0:
            progress(min(done, n_points), n_points)
    losses = np.array(sorted(points))
    # delta falls: neighbours sharpen each other's bounds.
    upper = np.minimum.accumulate(np.array([points[x].upper for x in losses.tolist()]))
    lower = np.array([points[x].lower for x in losses.tolist()])
    lower = np.maximum.accumulate(lower[::-1])[::-1]
    return Knots(losses, lower, upper)


def _end(profile: PrivacyProfile, log_depth: float, points: dict[float, LogBounds]) -> float:
    """Return about the first epsilon at which delta is below the depth, or has stopped."""
    low, high = 0.0, 1.0
    while high < _FARTHEST:
        points[high] = _bounds(profile, high)
        if points[high].upper <= log_depth:
            break
        low, high = high, high * 2
    if points.setdefault(high, _bounds(profile, high)).upper > log_depth:
        # delta never falls that far: take the first epsilon where it is as low as it gets.
        log_depth = points[high].upper
    for _ in range(40):
        middle = 0.5 * (low + high)
        if not low < middle < high:
            break
        points[middle] = _bounds(profile, middle)
        low, high = (low, middle) if points[middle].upper <= log_depth else (middle, high)
    for loss in [x for x in points if x > high]:
        del points[loss]
    return high


def upper_law(knots: Knots) -> AtomsLaw:
    """Return the law above a profile that chords between upper bounds make."""
    upper = knots.upper.copy()
    upper[0] = min(upper[0], _most_at_zero(knots.losses[1:], upper[1:]))
    points = _hull(knots.losses, upper)
    losses, values = knots.losses[points], upper[points]
    log_q = _slope_changes(losses, values)
    return _mirrored_law(
        losses, losses + log_q, float(values[-1]), Knots(losses, values, values), upward=True
    )


def _most_at_zero(losses: FloatArray, logs: FloatArray) -> float:
    """Return a float not below ln D(1), from bounds of ln D at losses above 0.

    1 lies between 1 / E and E, where the mirror image has 1 - 1 / E + D(E) / E: by convexity
    D(1) <= (E - 1 + 2 D(E)) / (E + 1) (proofs/symmetrised-composition#7). Bounds above that are of
    no profile, and their law has more than all mass.
    """
    if not losses.size:
        return 0.0
    # Both sides divided by E: no E is too large for a float.
    ends = (-np.expm1(-losses) + 2 * np.exp(logs - losses)) / (1 + np.exp(-losses))
    least = float(ends.min()) * (1 + 1e-14)
    return math.log(least) * (1 - UNIT_ROUNDOFF) + 4 * UNIT_ROUNDOFF if least > 0 else 0.0


def _lower_law(knots: Knots, log_far: float) -> AtomsLaw | None:
    losses, lower, upper = knots
    log_far = log_far if log_far >= _DEEPEST else -math.inf
    if losses.size < 3 or lower[1] == -math.inf:
        # delta is at least what it is far out: that mass at infinity, the rest at 0.
        nothing = np.zeros(1)
        return _mirrored_law(nothing, nothing - math.inf, log_far, None, upward=False)
    found_x: list[float] = []
    found_y: list[float] = []
    for cell in range(losses.size - 1):
        for point in _meeting(losses, lower, upper, cell, log_far):
            if found_x and point[0] <= found_x[-1]:
                found_y[-1] = min(found_y[-1], point[1])
            else:
                found_x.append(point[0])
                found_y.append(point[1])
        if found_y[-1] <= log_far:
            break
    if len(found_x) < 2:
        return None
    if found_y[-1] > log_far:
        found_x.append(float(losses[-1]))
        found_y.append(log_far)
    # The mirror image of the first point, 1 - E + E D(1/E), and what lies between at E = 1.
    growth, value = math.exp(min(found_x[0], 600.0)), math.exp(found_y[0])
    between = (growth - 1 + 2 * value) / (growth + 1)
    if found_x[0] > 0.0:
        found_x, found_y = [0.0, *found_x], [math.log(between), *found_y]
    x, y = np.array(found_x), np.array(found_y)
    keep = _hull(x, y)
    x, y = x[keep], y[keep]
    log_q = _slope_changes(x, y)
    return _mirrored_law(x, x + log_q, float(y[-1]), Knots(x, y, y), upward=False)


def _meeting(
    losses: FloatArray, lower: FloatArray, upper: FloatArray, cell: int, log_far: float
) -> list[tuple[float, float]]:
    """Return points (loss, ln value) of the lower polygon in a cell, from both chords.

    Chords that do not meet from above are above the line between the bounds at the ends.
    In units of e^(left end), values relative to the bound there. The last cell has no chord
    to its right: there the left one goes on until the level that delta never falls below.
    """
    left, scale = losses[cell], lower[cell]
    last = cell == losses.size - 2
    if scale == -math.inf or losses[min(cell + 2, losses.size - 1)] - left > 600:
        # delta falls, so it is at least its next value.
        return [(float(left), max(float(lower[cell + 1]), log_far))]
    if cell:
        before = math.expm1(losses[cell - 1] - left)
        first = (1.0 - math.exp(upper[cell - 1] - scale)) / -before
    else:
        # The mirror image of this cell: D(1/E) = 1 - 1/E + D(E)/E.
        fall = 1.0 - math.exp(upper[1] - scale)
        first = 1.0 - math.exp(-scale) + fall / math.expm1(losses[1])
    if last:
        level = math.exp(log_far - scale)
        if first >= 0:
            return [(float(left), log_far)]
        return [(float(left + math.log1p((1.0 - level) / -first)), log_far)]
    right, beyond = math.expm1(losses[cell + 1] - left), math.expm1(losses[cell + 2] - left)
    base = math.exp(lower[cell + 1] - scale)
    second = (math.exp(upper[cell + 2] - scale) - base) / (beyond - right)
    if second <= first:
        return [(float(losses[i]), float(lower[i])) for i in (cell, cell + 1)]
    meet = min(max((base - second * right - 1.0) / (first - second), 0.0), right)
    value = min(1.0, max(1.0 + first * meet, base + second * (meet - right))) * (1 - 1e-14)
    if value <= 0:
        return [(float(left + math.log1p(meet)), log_far)]
    return [(float(left + math.log1p(meet)), float(scale + math.log(value)))]


def _hull(losses: FloatArray, logs: FloatArray) -> IntArray:
    """Return the points of the greatest convex minorant of (e^loss, e^log), in order."""
    kept: list[int] = []
    for index in range(losses.size):
        while len(kept) >= 2 and not _turns(losses, logs, kept[-2], kept[-1], index):
            kept.pop()
        kept.append(index)
    return np.array(kept, dtype=np.int64)


def _turns(losses: FloatArray, logs: FloatArray, a: int, b: int, c: int) -> bool:
    """Return whether the slope from b to c is larger than that from a to b."""
    scale = max(logs[a], logs[b], logs[c])
    if scale == -math.inf:
        return False
    y = [math.exp(logs[i] - scale) for i in (a, b, c)]
    # Both widths in E, the larger one divided by e^(l_c - l_b).
    near = -math.expm1(losses[a] - losses[b]) * math.exp(losses[b] - losses[c])
    far = -math.expm1(losses[b] - losses[c])
    return bool((y[2] - y[1]) * near > (y[1] - y[0]) * far)


def _slope_changes(losses: FloatArray, logs: FloatArray) -> FloatArray:
    """Return ln of the Q-mass at each point: the change of slope of the chords there.

    To the right of the last point the slope is 0; the first point, l = 0, takes what the
    mirror image leaves.
    """
    widths = np.diff(losses)
    with np.errstate(divide="ignore", invalid="ignore"):
        # ln of minus the slope of each chord, falling.
        falls = logs[:-1] + np.log(-np.expm1(logs[1:] - logs[:-1]))
        slopes = falls - losses[1:] - np.log(-np.expm1(-widths))
        slopes = np.nan_to_num(slopes, nan=-math.inf, neginf=-math.inf)
        after = np.concatenate([slopes[1:], [-math.inf]])
        changes = slopes + np.log(-np.expm1(np.minimum(after - slopes, 0.0)))
    masses = np.concatenate([[-math.inf], changes])
    return np.asarray(np.nan_to_num(masses, nan=-math.inf, neginf=-math.inf))


def _mirrored_law(
    losses: FloatArray, log_p: FloatArray, log_infinite: float, knots: Knots | None, *, upward: bool
) -> AtomsLaw:
    """Add the mirror image and the mass at 0, and check the law against the knots."""
    keep = (log_p > -math.inf) & (losses > 0)
    above, masses = losses[keep], log_p[keep]
    mirrored = np.exp(masses) * (1 + np.exp(-above))
    infinite = math.exp(log_infinite) if log_infinite > -math.inf else 0.0
    rest = 1.0 - math.fsum(mirrored.tolist()) - infinite
    rest += 1e-15 if upward else -1e-15
    middle = [math.log(rest)] if rest > 0 else []
    law = AtomsLaw(
        np.concatenate([(masses - above)[::-1], middle, masses]),
        np.concatenate([-above[::-1], np.zeros(len(middle)), above]),
        # Not by its float: mass at infinity may lie far below e^-745.
        LogBounds(log_infinite, log_infinite) if log_infinite > -math.inf else LOG_ZERO,
    )
    if knots is None:
        return AtomsLaw(law.log_masses, law.losses, law.infinite, Slack(1e-14, 0.0))
    mesh = np.unique(np.concatenate([law.losses, knots.losses, losses]))
    mine, _, error = log_sticks(law.log_masses, law.losses, log_infinite, mesh)
    positions = np.searchsorted(mesh, knots.losses)
    target = knots.upper if upward else knots.lower
    with np.errstate(invalid="ignore"):
        gap = (target - mine[positions]) if upward else (mine[positions] - target)
    gap = gap[~np.isnan(gap)]
    # Losses below 0 hold p e^-l, rounded: 4 u of the exponent is in the error.
    worst = max(0.0, float(gap.max(initial=0.0))) + error + 1e-14
    # D(E) >= 1 - E for E < 1, and a mass at 0 off by x moves it by at most x (1 - E).
    worst += abs(min(rest, 0.0))
    return AtomsLaw(law.log_masses, law.losses, law.infinite, Slack(worst, 0.0))
