"""How a guarantee is split among the common half shift, the values and their bars.

With m values and all of rho, rho_0 = rho / (1 + sqrt m) for the half shift minimises the noise in
ranks, (sigma_h^2 + 1 / (2 rho_j)) / 4. sigma_h^2 = 1 / (2 rho_0) is rational, and all parts add
up exactly. Bars take a share of each value's part.

Gaussian DP: squares of mu add up. The half shift gets the mu of the discrete Gaussian's own curve,
which is above 1 / sigma_h, and each value the pure DP that implies its mu.

Source: proofs/half-shift#4, #8.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from smoothdp.claims.excess import mu_of_pure
from smoothdp.claims.guarantees.concentrated import ZCDP
from smoothdp.claims.guarantees.guarantee import Guarantee
from smoothdp.claims.guarantees.standard import ApproxDP, PureDP
from smoothdp.claims.terms import MuTerms, RhoTerms
from smoothdp.errors import InvalidParameter
from smoothdp.exact.parameters.numbers import float_of, square_root
from smoothdp.exact.probabilities.discrete_gaussian_mu import sigma_squared_of_mu

LOCAL_NOISE = 2.2
"""Deviation of a value's noise under mu-Gaussian DP, times mu, in units of the sensitivity."""
BARS_SHARE = Fraction(2, 5)
"""What of each value's part releases ln S, where there are bars."""
_HALVINGS = 40


@dataclass(frozen=True, slots=True)
class ShiftBudget:
    """What each part of a half-shift release gets.

    Attributes:
        shift_variance: sigma_h^2, rational.
        part: what each value's noise keeps.
        bar_cost: rho of each value's bars; 0 without.
    """

    shift_variance: Fraction
    part: Guarantee
    bar_cost: Fraction


def split(guarantee: Guarantee, n_values: int, *, has_bars: bool) -> ShiftBudget:
    """Return the parts of a guarantee for so many values.

    Args:
        guarantee: ZCDP, TruncatedCDP, GaussianDP, or ApproxDP with delta > 0, by conversion.

    Raises:
        InvalidParameter: another guarantee, or one that allows no loss.

    >>> split(ZCDP("1/2"), 1, has_bars=False)
    ShiftBudget(shift_variance=Fraction(2, 1), part=ZCDP(rho=1/4, ...), bar_cost=Fraction(0, 1))
    """
    terms = guarantee.terms()
    if isinstance(terms, MuTerms):
        return _gaussian(guarantee, terms.mu, n_values, has_bars=has_bars)
    whole = concentrated(guarantee)
    rho = _rho(whole)
    shift_rho = rho * shift_share(n_values)
    each = (rho - shift_rho) / n_values
    bar_cost = each * BARS_SHARE if has_bars else Fraction(0)
    return ShiftBudget(1 / (2 * shift_rho), whole.changed(rho=each - bar_cost), bar_cost)


def shift_share(n_values: int) -> Fraction:
    """Return about 1 / (1 + sqrt m), as a short decimal.

    >>> [str(shift_share(m)) for m in (1, 4, 9)]
    ['1/2', '333/1000', '1/4']
    """
    return Fraction(f"{1 / (1 + math.sqrt(n_values)):.3g}")


def concentrated(guarantee: Guarantee) -> Guarantee:
    """Return a concentrated claim that the guarantee follows from, itself where it is one.

    >>> concentrated(ApproxDP(1, delta="1e-6"))
    ZCDP(rho=0.02435, neighbours='replace_one')
    """
    if isinstance(guarantee.terms(), RhoTerms):
        _rho(guarantee)
        return guarantee
    if isinstance(guarantee, ApproxDP) and guarantee.exact_delta > 0:
        return _by_conversion(guarantee)
    raise InvalidParameter(
        expected="ZCDP, TruncatedCDP, GaussianDP, or ApproxDP with delta > 0, for a half-shift "
        "release",
        got=f"{guarantee!r}",
        remedy="Give one of these",
    )


def _gaussian(guarantee: Guarantee, mu: Fraction, n_values: int, *, has_bars: bool) -> ShiftBudget:
    """Return the parts of mu-Gaussian DP: squares of mu add up."""
    if mu <= 0:
        raise InvalidParameter(
            expected="a guarantee that allows some loss",
            got=f"{guarantee!r}",
            remedy="Raise its mu",
        )
    share = Fraction(f"{1 / (1 + LOCAL_NOISE * math.sqrt(n_values)):.3g}")
    each = (1 - share) / n_values
    bars = each * BARS_SHARE if has_bars else Fraction(0)
    epsilon = _pure_below(mu * square_root(each - bars, up=False))
    variance = _short_up(sigma_squared_of_mu(mu * square_root(share, up=False)))
    return ShiftBudget(
        variance,
        PureDP(epsilon, neighbours=guarantee.neighbours),
        bars * mu**2 / 2,
    )


def _short_up(value: Fraction) -> Fraction:
    """Return the least number of five digits that is not below a value > 0.

    >>> _short_up(Fraction(10**12, 3))
    Fraction(333340000000, 1)
    """
    # Not through floats of bounded size: sigma_h^2 is about 1 / mu^2.
    magnitude = math.log10(value.numerator) - math.log10(value.denominator)
    unit = Fraction(10) ** (math.floor(magnitude) - 4)
    return math.ceil(value / unit) * unit


def _pure_below(mu: Fraction) -> Fraction:
    """Return about the largest epsilon, of six digits, whose pure DP implies mu-Gaussian DP."""

    def implies(epsilon: Fraction) -> bool:
        least = mu_of_pure(epsilon)
        return least is not None and least <= mu

    low, high = 0.0, float_of(mu) * (1 + float_of(mu))
    while high - low > 1e-7 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if implies(Fraction(f"{middle:.6g}")) else (low, middle)
    return Fraction(f"{low:.6g}")


def _rho(whole: Guarantee) -> Fraction:
    terms = whole.terms()
    assert isinstance(terms, RhoTerms)
    if terms.rho <= 0:
        raise InvalidParameter(
            expected="a guarantee that allows some loss", got=f"{whole!r}", remedy="Raise its rho"
        )
    return terms.rho


def _by_conversion(guarantee: ApproxDP) -> ZCDP:
    """Return about the largest rho, of four digits, whose zCDP implies approximate DP."""

    def claim(rho: Fraction) -> ZCDP:
        return ZCDP(rho, neighbours=guarantee.neighbours)

    # rho-zCDP loses rho on average, which is not above epsilon beside a small delta.
    low, high = -_HALVINGS, 0.0 + _HALVINGS
    if not claim(_short(2.0**low)).implies(guarantee):
        raise InvalidParameter(
            expected="a guarantee that some zCDP implies",
            got=f"{guarantee!r}",
            remedy="Raise its epsilon or delta",
        )
    lower: float = low
    for _ in range(_HALVINGS):
        middle = (lower + high) / 2
        if claim(_short(2.0**middle)).implies(guarantee):
            lower = middle
        else:
            high = middle
        if high - lower < 1e-4:
            break
    return claim(_short(2.0**lower))


def _short(value: float) -> Fraction:
    return Fraction(f"{value:.4g}")
