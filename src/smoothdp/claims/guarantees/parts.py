"""Parts of a guarantee: what several releases get that are to keep it together."""

from __future__ import annotations

from fractions import Fraction

from smoothdp.claims.guarantees.guarantee import Guarantee
from smoothdp.claims.terms import EpsilonTerms, MuTerms, RhoTerms
from smoothdp.errors import IncompatibleClaims
from smoothdp.exact.balls.balls import log_bounds
from smoothdp.exact.parameters.numbers import LogRatio, square_root


def part_of(guarantee: Guarantee, share: Fraction) -> Guarantee:
    """Return a share of a guarantee: parts whose shares add up to 1 compose to it.

    Epsilon and delta, rho, or the square of mu are multiplied; a logarithm or a root is rounded
    down (proofs/gaussian-dp#2).

    Raises:
        IncompatibleClaims: a claim whose parts do not add up.

    >>> from smoothdp.claims import ApproxDP
    >>> part_of(ApproxDP(1, delta="1e-6"), Fraction(1, 4))
    ApproxDP(epsilon=1/4, delta=2.5e-7, neighbours='replace_one')
    """
    terms = guarantee.terms()
    if isinstance(terms, EpsilonTerms):
        epsilon = terms.epsilon
        if isinstance(epsilon, LogRatio):
            epsilon = Fraction(log_bounds(epsilon.ratio).lower)
        changes: dict[str, object] = {"epsilon": share * epsilon}
        if "delta" in guarantee.parameter_names:
            changes["delta"] = share * terms.delta
        return guarantee.changed(**changes)
    if isinstance(terms, RhoTerms):
        return guarantee.changed(rho=share * terms.rho)
    if isinstance(terms, MuTerms):
        return guarantee.changed(mu=terms.mu * square_root(share, up=False))
    raise IncompatibleClaims(
        expected="PureDP, ApproxDP, ZCDP, TruncatedCDP or GaussianDP, whose parts add up",
        got=f"{guarantee!r}",
        remedy="Give one of these",
    )
