"""What a list of charges adds up to in each notion of privacy, for display."""

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
    found = []
    for notion in (
        PureDP(0, neighbours=neighbours),
        ApproxDP(0, delta=0, neighbours=neighbours),
        ZCDP(0, neighbours=neighbours),
        GaussianDP(0, neighbours=neighbours),
    ):
        kept = filter_of(notion)
        total = kept.nothing()
        for claim, count in counts.items():
            costs = kept.costs(claim)
            if costs is None:
                break
            total = kept.total(total, {n: cost.times(count) for n, cost in costs.items()})
        else:
            found.append(kept.spent(total))
    pure = any(isinstance(claim, PureDP) for claim in found)
    return [claim for claim in found if not (pure and isinstance(claim, ApproxDP))]
