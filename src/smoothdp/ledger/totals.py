"""The sum of a list of charges in each notion of privacy, for display."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from smoothdp.claims.guarantees.concentrated import ZCDP
from smoothdp.claims.guarantees.gaussian import GaussianDP
from smoothdp.claims.guarantees.guarantee import Guarantee
from smoothdp.claims.guarantees.standard import ApproxDP, PureDP
from smoothdp.claims.neighbours import Neighbours
from smoothdp.ledger.budgets import filter_of


def totals_of(claims: Iterable[Guarantee], neighbours: Neighbours) -> list[Guarantee]:
    """Return the sum in every notion that has a finite one: pure, approximate, zCDP, Gaussian.

    Each holds for claims that were fixed in advance. (Approximate DP by basic composition; for
    a tight epsilon at a delta use the profile.)

    >>> totals_of([ZCDP(1), GaussianDP(2)], Neighbours.REPLACE_ONE)
    [ZCDP(rho=3, neighbours='replace_one')]
    """
    counts = Counter(claims)
    pure = _total(PureDP(0, neighbours=neighbours), counts)
    # A pure sum needs no second line with delta = 0.
    ordinary = pure or _total(ApproxDP(0, delta=0, neighbours=neighbours), counts)
    concentrated = _total(ZCDP(0, neighbours=neighbours), counts)
    gaussian = _total(GaussianDP(0, neighbours=neighbours), counts)
    return [claim for claim in (ordinary, concentrated, gaussian) if claim is not None]


def _total(notion: Guarantee, counts: Counter[Guarantee]) -> Guarantee | None:
    """Return the sum in the notion of a claim, None if some claim has no cost in it."""
    kept = filter_of(notion)
    total = kept.nothing()
    for claim, count in counts.items():
        costs = kept.costs(claim)
        if costs is None:
            return None
        total = kept.total(total, {name: cost.times(count) for name, cost in costs.items()})
    return kept.spent(total)
