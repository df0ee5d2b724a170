"""What an attacker can do at best, read off a privacy profile: never understated.

The attacker sees the output and guesses which of two neighbouring databases it came from.
With D(E) = delta(ln E) for E >= 1 and 1 - E + E D(1/E) below, the power at false-positive rate
alpha is at most the least of D(E) + E alpha over E > 0 (Dong, Roth, Su 2022, Proposition 2.12).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

from smoothdp.claims.curves.profile import PrivacyProfile
from smoothdp.errors import InvalidParameter
from smoothdp.exact.balls.balls import log_bounds
from smoothdp.exact.logspace.bounds import LIBM_ERROR, UNIT_ROUNDOFF, exp_upper, log_sum_upper
from smoothdp.exact.parameters.numbers import (
    LogRatio,
    Parameter,
    Real,
    exact_probability,
    exact_real,
    proper_probability,
)

__all__ = ["advantage", "bayes_success", "best_attack"]

_GOLDEN = 0.3819660112501051
_FARTHEST = 4096.0
_ALIKE = 1e-9


def advantage(profile: PrivacyProfile) -> float:
    """Return the largest true-positive minus false-positive rate: delta(0), rounded up.

    Raises:
        InvalidParameter: no profile, but what has one.

    >>> from smoothdp.claims import GaussianDP
    >>> round(advantage(GaussianDP(1).profile()), 6)
    0.382925
    """
    return _read(profile).delta(0)


def best_attack(profile: PrivacyProfile, *, false_positive_rate: Parameter) -> float:
    """Return the largest true-positive rate at a false-positive rate, rounded up.

    Any E gives a bound, so where the search for the least one ends is safe. Rates may lie
    below floats, such as "1e-400".

    Raises:
        InvalidParameter: a rate outside [0, 1]; no profile, but what has one.

    >>> from smoothdp.claims import GaussianDP
    >>> round(best_attack(GaussianDP(1).profile(), false_positive_rate="0.05"), 5)
    0.25951
    """
    _read(profile)
    alpha = exact_probability(false_positive_rate, name="false_positive_rate")
    if alpha == 1:
        return 1.0
    log_alpha = log_bounds(alpha).upper if alpha else -math.inf

    def steep(epsilon: float) -> float:
        """ln of delta(e) + e^e alpha."""
        log_delta = profile.log_delta_bounds(exact_real(epsilon, name="epsilon")).upper
        line = log_alpha + epsilon
        return log_sum_upper(log_delta, line + 4 * LIBM_ERROR * (1 + abs(line)))

    def flat(epsilon: float) -> float:
        """ln of 1 - (1 - alpha - delta(e)) e^-e."""
        log_delta = profile.log_delta_bounds(exact_real(epsilon, name="epsilon")).upper
        rest = float(1 - alpha) * (1 - LIBM_ERROR) - exp_upper(log_delta)
        value = 1 - rest * math.exp(-epsilon) * (1 - math.copysign(4 * LIBM_ERROR, rest))
        return math.log(max(value, 0.0) + 4 * UNIT_ROUNDOFF) + 4 * LIBM_ERROR

    # About the scale of the epsilons that count: far beyond it delta is small, and dear to bound.
    first = min(1.0, 4 * profile.delta(0) or 1.0)
    # Beyond -ln alpha the line alone is above 1.
    farthest = min(_FARTHEST, -log_alpha)
    best = min(_least(steep, farthest, first), _least(flat, _FARTHEST, first), 0.0)
    return min(1.0, exp_upper(best))


def bayes_success(profile: PrivacyProfile, *, prior: Parameter = Fraction(1, 2)) -> float:
    """Return the largest probability of guessing right, for a prior of the first database.

    With the prior p >= 1/2 of the likelier one it is p + (1 - p) delta(ln(p / (1 - p))).

    Raises:
        InvalidParameter: a prior outside (0, 1); no profile, but what has one.

    >>> from smoothdp.claims import PureDP
    >>> round(bayes_success(PureDP("ln(3)").profile()), 12)
    0.75
    """
    _read(profile)
    first = proper_probability(prior, name="prior", remedy="Give a prior such as 0.5")
    p = max(first, 1 - first)
    odds: Real = LogRatio(p / (1 - p)) if 2 * p != 1 else Fraction(0)
    delta = exp_upper(profile.log_delta_bounds(odds).upper)
    value = p + (1 - p) * Fraction(min(1.0, delta))
    return min(1.0, math.nextafter(float(value), 2.0))


def _read(profile: PrivacyProfile) -> PrivacyProfile:
    if not isinstance(profile, PrivacyProfile):
        raise InvalidParameter(
            expected="a privacy profile",
            got=type(profile).__name__,
            remedy="Pass its .profile(), or what smoothdp.compose returns",
        )
    return profile


def _least(function: Callable[[float], float], farthest: float, first: float) -> float:
    """Return a small value of a function of epsilon in [0, farthest] (golden section)."""
    low, high = 0.0, min(first, farthest)
    best = at_high = function(high)
    while high < farthest:
        further = function(min(2 * high, farthest))
        if further >= at_high:
            break
        high, at_high = min(2 * high, farthest), further
    high = min(2 * high, farthest)
    best = min(best, at_high, function(0.0))
    inner = [low + _GOLDEN * (high - low), high - _GOLDEN * (high - low)]
    values = [function(inner[0]), function(inner[1])]
    level = 0
    for _ in range(60):
        best = min(best, *values)
        # Alike once, they may lie on both sides of the least; alike three times they do not.
        level = level + 1 if abs(values[0] - values[1]) <= _ALIKE * abs(best) else 0
        if high - low < 1e-9 * (1 + high) or level == 3:
            break
        if values[0] < values[1]:
            high = inner[1]
            inner = [low + _GOLDEN * (high - low), inner[0]]
            values = [function(inner[0]), values[0]]
        else:
            low = inner[0]
            inner = [inner[1], high - _GOLDEN * (high - low)]
            values = [values[1], function(inner[1])]
    return float(min(best, *values))
