"""Which share of the budget error bars get: rules that see no data.

Pure and approximate DP: a share .9 sqrt(t / epsilon) of epsilon; beyond t = epsilon / 5 bars cost
more than they give and are refused. zCDP: min(.3, .02 + 1.5 t / e) of rho, e = sqrt(2 rho), and a
quarter of it where a quantile is covered; the same of the square of mu.

Source: what it pays for, proofs/error-bars#1; the shares, proofs/release-rules#1, #6.
"""

from __future__ import annotations

import math
from fractions import Fraction

from smoothdp.claims.guarantees.guarantee import Guarantee
from smoothdp.claims.terms import EpsilonTerms, MuTerms
from smoothdp.errors import InvalidParameter
from smoothdp.exact.parameters.numbers import exact_text, float_of
from smoothdp.mechanisms.release.bars.targets import Target
from smoothdp.mechanisms.release.defaults import Rule

_DEAREST = 0.2
_USEFUL = 300


def bars_budget(
    guarantee: Guarantee,
    smoothing: Fraction,
    n_records: int | Fraction | None,
    *,
    covers: Target = "window",
) -> tuple[Fraction, Fraction]:
    """Return what ln S costs (epsilon, rho, or mu squared) and the spread that costs no more.

    Raises:
        InvalidParameter: pure or approximate DP and t > epsilon / 5.

    >>> from smoothdp.claims import PureDP
    >>> bars_budget(PureDP(1), Fraction(1, 25), 1001)
    (Fraction(9, 50), Fraction(2, 9))
    """
    e = Rule.of(guarantee).epsilon
    ratio = float_of(smoothing) / e
    check_worth(guarantee, smoothing, n_records)
    if isinstance(guarantee.terms(), EpsilonTerms):
        cost = _short(0.9 * math.sqrt(ratio) * e)
        return cost, smoothing / cost
    terms = guarantee.terms()
    whole, per_rho = (terms.mu**2, 1) if isinstance(terms, MuTerms) else (e * e / 2, 2)
    share = 0.25 if covers in ("quantile", "population") else min(0.3, 0.02 + 1.5 * ratio)
    cost = _short(share * float(whole))
    # Rounded up, so that t^2 / (2 spread^2) <= rho, or t^2 / spread^2 <= mu^2.
    spread = Fraction(float_of(smoothing) / math.sqrt(per_rho * float(cost)) * (1 + 1e-12))
    while per_rho * cost * spread**2 < smoothing**2:
        spread *= 1 + Fraction(1, 10**12)
    return cost, spread


def is_worth(guarantee: Guarantee, smoothing: Fraction) -> bool:
    """Whether bars are released at all: not under pure or approximate DP and t > epsilon / 5."""
    if not isinstance(guarantee.terms(), EpsilonTerms):
        return True
    return float_of(smoothing) <= _DEAREST * Rule.of(guarantee).epsilon


def check_worth(
    guarantee: Guarantee, smoothing: Fraction, n_records: int | Fraction | None
) -> None:
    """Refuse bars that cost more than they give, and say what helps."""
    if not is_worth(guarantee, smoothing):
        raise _too_dear(Rule.of(guarantee).epsilon, smoothing, n_records)


def _too_dear(e: float, smoothing: Fraction, n_records: int | Fraction | None) -> InvalidParameter:
    size = "" if n_records is None else f", n times epsilon of {float(n_records) * e:.4g}"
    return InvalidParameter(
        expected=(
            f"smoothing <= epsilon / 5 for error bars under pure or approximate DP (n times "
            f"epsilon of {_USEFUL} is enough for a median, seldom for a tail)"
        ),
        got=f"smoothing={exact_text(smoothing)}, epsilon={e:.4g}{size}",
        remedy="Take more records or a larger epsilon, use ZCDP, or leave confidence out",
    )


def _short(value: float) -> Fraction:
    return Fraction(f"{value:.2g}")
