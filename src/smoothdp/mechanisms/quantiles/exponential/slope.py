"""How steep the exponential mechanism on ranks may be under a guarantee."""

from __future__ import annotations

from fractions import Fraction

from smoothdp.claims.guarantees.guarantee import Guarantee
from smoothdp.claims.neighbours import Neighbours
from smoothdp.claims.terms import EpsilonTerms, MuTerms, RhoTerms
from smoothdp.errors import IncompatibleClaims, InvalidParameter
from smoothdp.exact.balls.balls import ball, log_bounds, precision, round_down
from smoothdp.exact.balls.special import normal_tail
from smoothdp.exact.parameters.numbers import LogRatio, square_root


def slope_of(guarantee: Guarantee, level: Fraction) -> Fraction:
    """Return lambda of the density exp(-lambda |#{x < v} - q n|): what a guarantee pays for.

    Neighbours move |#{x < v} - q n| by amounts whose range over v is 2 M at most, M = 1 where one
    record is replaced, M = max(q, 1 - q) where one is added or removed (#1). With R = 2 lambda M:

        epsilon-DP, (epsilon, delta)-DP   R = epsilon
        rho-zCDP, truncated or not        R^2 / 8 = rho
        mu-Gaussian DP                    R / 2 = ln(Phi(mu/2) / Phi(-mu/2))

    Rounded down to a rational number. Source: proofs/exponential-quantile#1, #2, #3.

    Raises:
        InvalidParameter: a guarantee that allows no loss.
        IncompatibleClaims: a claim of another kind, or about other neighbours.

    >>> from smoothdp.claims import ZCDP, PureDP
    >>> slope_of(PureDP(1), Fraction(1, 4)), slope_of(ZCDP("1/2"), Fraction(1, 4))
    (Fraction(1, 2), Fraction(1, 1))
    >>> slope_of(PureDP(1, neighbours="add_remove"), Fraction(1, 4))
    Fraction(2, 3)
    """
    reach = _reach(guarantee, level)
    half = _half_range(guarantee)
    if half <= 0:
        raise InvalidParameter(
            expected="a guarantee that allows some loss",
            got=f"{guarantee!r}",
            remedy="Raise its epsilon, rho or mu",
        )
    return half / reach


def _reach(guarantee: Guarantee, level: Fraction) -> Fraction:
    if guarantee.neighbours is Neighbours.REPLACE_ONE:
        return Fraction(1)
    if guarantee.neighbours is Neighbours.ADD_REMOVE:
        return max(level, 1 - level)
    raise IncompatibleClaims(
        expected="a guarantee about replacing one record, or about adding or removing one",
        got=f"{guarantee!r}",
        remedy='Give neighbours="replace_one" or neighbours="add_remove"',
    )


def _half_range(guarantee: Guarantee) -> Fraction:
    """Return R / 2, rounded down."""
    terms = guarantee.terms()
    if isinstance(terms, EpsilonTerms):
        epsilon = terms.epsilon
        if isinstance(epsilon, LogRatio):
            epsilon = Fraction(log_bounds(epsilon.ratio).lower)
        return epsilon / 2
    if isinstance(terms, RhoTerms):
        return square_root(2 * terms.rho, up=False)
    if isinstance(terms, MuTerms):
        with precision(192):
            half = ball(terms.mu) / 2
            ratio = normal_tail(-half).log() - normal_tail(half).log()
        return max(Fraction(round_down(ratio)), Fraction(0))
    raise IncompatibleClaims(
        expected="PureDP, ApproxDP, ZCDP, TruncatedCDP or GaussianDP",
        got=f"{guarantee!r}",
        remedy="Give one of these",
    )
