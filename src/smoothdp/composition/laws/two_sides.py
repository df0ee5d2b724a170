"""A finite pair above both directions of a mechanism, each known as a profile.

For E >= 1 the forward D is known from one profile, and for E < 1 it is 1 - E + E A(1/E), A the
profile of the reverse. Chords of upper bounds of both, made convex, lie above the true D, which is
convex. Atoms with losses above 0 are the kinks of the first, those below 0 the kinks of the
second with both laws exchanged; what is left lies at loss 0, and beyond the last points all that
is left is infinite.
"""

from __future__ import annotations

import math

import numpy as np

from smoothdp.claims.curves.profile import PrivacyProfile
from smoothdp.composition.laws.atoms import AtomsLaw
from smoothdp.composition.laws.grid_pair import convex_points, log_sticks, sampled_knots
from smoothdp.composition.laws.law import Slack
from smoothdp.exact.logspace.bounds import LIBM_ERROR, LOG_ZERO, UNIT_ROUNDOFF, LogBounds
from smoothdp.types import FloatArray


def two_sided_laws(
    forward: PrivacyProfile, backward: PrivacyProfile, *, log_depth: float, n_points: int
) -> tuple[AtomsLaw, AtomsLaw]:
    """Return the laws of both directions of a pair above both profiles.

    >>> from smoothdp.claims import PureDP
    >>> one = PureDP(1).profile()
    >>> laws = two_sided_laws(one, one, log_depth=-60.0, n_points=100)
    >>> laws[0].largest == laws[1].largest
    True
    """
    sides = [_upper(each, log_depth, n_points) for each in (forward, backward)]
    top = max(float(logs[0]) for _, logs in sides)
    changes = []
    for losses, logs in sides:
        logs[0] = top
        keep, masses = convex_points(losses, logs)
        changes.append((losses[keep], logs[keep], masses))
    first = _law(changes[0], changes[1])
    second = _law(changes[1], changes[0])
    return first, second


_Change = tuple[FloatArray, FloatArray, FloatArray]
"""Losses, ln of D there, and ln of the change of slope there."""


def _upper(
    profile: PrivacyProfile, log_depth: float, n_points: int
) -> tuple[FloatArray, FloatArray]:
    knots = sampled_knots(profile, log_depth=log_depth, n_points=n_points)
    return knots.losses, knots.upper.copy()


def _law(own: _Change, other: _Change) -> AtomsLaw:
    """Return the law with the kinks of ``own`` above 0, and those of the reverse below."""
    above, below = _kinks(own), _kinks(other)
    infinite = float(own[1][-1])
    # Of the reverse the change of slope is a mass of this law.
    log_p = np.concatenate([(below[1])[::-1], above[0] + above[1]])
    losses = np.concatenate([-below[0][::-1], above[0]])
    total = math.fsum(np.exp(log_p).tolist()) + (math.exp(infinite) if infinite > -math.inf else 0)
    rest = 1.0 - total + 1e-15
    if rest > 0:
        log_p, losses = np.append(log_p, math.log(rest)), np.append(losses, 0.0)
    order = np.argsort(losses, kind="stable")
    log_p, losses = log_p[order], losses[order]
    # Where it falls short of the chords, at the points, is slack.
    at = np.unique(np.concatenate([losses, own[0], -other[0]]))
    mine, _, error = log_sticks(log_p, losses, infinite, at)
    gaps = [_largest_gap(own[1], mine[np.searchsorted(at, own[0])])]
    left = mine[np.searchsorted(at, -other[0])]
    # 1 - E + E A(1/E) at E = e^-loss.
    with np.errstate(divide="ignore"):
        target = np.logaddexp(np.log(-np.expm1(-other[0])), other[1] - other[0])
    gaps.append(_largest_gap(target, left))
    logs = np.concatenate([own[1], other[1]])
    size = float(np.abs(logs[np.isfinite(logs)]).max(initial=0.0))
    worst = max(0.0, *gaps) + error + 8 * LIBM_ERROR + 8 * UNIT_ROUNDOFF * size + 1e-14
    worst += abs(min(rest, 0.0))
    bounds = LogBounds(infinite, infinite) if infinite > -math.inf else LOG_ZERO
    return AtomsLaw(log_p, losses, bounds, Slack(worst, 0.0))


def _largest_gap(target: FloatArray, found: FloatArray) -> float:
    with np.errstate(invalid="ignore"):
        gaps = target - found
    # Both are 0 where neither has a logarithm.
    return float(gaps[~np.isnan(gaps)].max(initial=0.0))


def _kinks(change: _Change) -> tuple[FloatArray, FloatArray]:
    losses, _, masses = change
    keep = (masses > -math.inf) & (losses > 0)
    return losses[keep], masses[keep]
