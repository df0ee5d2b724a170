"""Between privacy profiles and trade-off curves: convex conjugates of each other.

Curve to profile: D(E) = 1 + f*(-E), the largest power - E alpha. Profile to curve:
f(alpha) = sup over E > 0 of 1 - D(E) - E alpha (Dong, Roth, Su 2022, Propositions 2.12, 2.13).
For piecewise-linear curves the first is exact; the second takes finitely many E, which can only
understate f: the attacker's error is never overstated.
"""

from __future__ import annotations

from smoothdp.claims.curves.pair import Pair, PairProfile
from smoothdp.claims.curves.profile import PrivacyProfile
from smoothdp.claims.curves.profile_curve import curve_of_profile
from smoothdp.claims.curves.tradeoff import TradeoffFunction
from smoothdp.claims.neighbours import Neighbours, read_neighbours
from smoothdp.errors import InvalidParameter
from smoothdp.exact.parameters.numbers import exact_int


def curve_to_profile(
    curve: TradeoffFunction, *, neighbours: Neighbours | str = Neighbours.REPLACE_ONE
) -> PrivacyProfile:
    """Return the privacy profile of a curve: the worse of both directions.

    Raises:
        InvalidParameter: something other than a TradeoffFunction, or unknown neighbours.

    >>> profile = curve_to_profile(TradeoffFunction([0.25], [0.75]))
    >>> round(profile.delta(0), 12)
    0.5
    """
    if not isinstance(curve, TradeoffFunction):
        raise InvalidParameter(
            expected="a TradeoffFunction",
            got=f"{curve!r}",
            remedy="Build one with TradeoffFunction(...)",
        )
    rises, runs, error = curve.segments
    pair = Pair(rises, runs, error=error)
    return PairProfile(pair, pair.reverse(), read_neighbours(neighbours))


def profile_to_curve(profile: PrivacyProfile, *, n_lines: int = 200) -> TradeoffFunction:
    """Return a curve that every mechanism with this profile lies above, from n_lines lines.

    Raises:
        InvalidParameter: n_lines below 2.

    >>> from smoothdp.claims import GaussianDP
    >>> f = profile_to_curve(GaussianDP(1).profile(), n_lines=400)
    >>> round(f(0.05), 4)
    0.7405
    """
    return curve_of_profile(profile, n_lines=exact_int(n_lines, name="n_lines", minimum=2))
