"""How a guarantee is split among the common half shift, the values and their bars.

With m values and all of rho, rho_0 = rho / (1 + sqrt m) for the half shift minimises the noise in
ranks, (sigma_h^2 + 1 / (2 rho_j)) / 4. sigma_h^2 = 1 / (2 rho_0) is rational, and all parts add
up exactly. Bars take a share of each value's part.

Source: proofs/half-shift#4.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from smoothdp.claims.guarantees.concentrated import ZCDP
from smoothdp.claims.guarantees.guarantee import Guarantee
from smoothdp.claims.guarantees.standard import ApproxDP
from smoothdp.claims.terms import RhoTerms
from smoothdp.errors import InvalidParameter

BARS_SHARE = Fraction(1, 4)
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
        guarantee: ZCDP, TruncatedCDP, or ApproxDP with delta > 0, by conversion.

    Raises:
        InvalidParameter: another guarantee, or one that allows no loss.

    >>> split(ZCDP("1/2"), 1, has_bars=False)
    ShiftBudget(shift_variance=Fraction(2, 1), part=ZCDP(rho=1/4, neighbours='replace_one'), bar_cost=Fraction(0, 1))
    """
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
    ZCDP(rho=0.02136, neighbours='replace_one')
    """
    if isinstance(guarantee.terms(), RhoTerms):
        _rho(guarantee)
        return guarantee
    if isinstance(guarantee, ApproxDP) and guarantee.exact_delta > 0:
        return _by_conversion(guarantee)
    raise InvalidParameter(
        expected="ZCDP, TruncatedCDP, or ApproxDP with delta > 0, for a half-shift release",
        got=f"{guarantee!r}",
        remedy="Give one of these",
    )


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
