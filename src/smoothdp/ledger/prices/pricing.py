"""What a charge costs in a ledger: its guarantee's price, or less where the mechanism knows it."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Protocol, runtime_checkable

from smoothdp.claims.guarantees.concentrated import ZCDP
from smoothdp.claims.guarantees.guarantee import Guarantee, stated_guarantee
from smoothdp.claims.label import Labelled
from smoothdp.claims.neighbours import Neighbours, require_same
from smoothdp.errors import IncompatibleClaims
from smoothdp.ledger.charged import Charged, is_ours, read_charged
from smoothdp.ledger.declared import DeclaredFilter
from smoothdp.ledger.filters import Amounts, Filter
from smoothdp.ledger.prices.renyi_filter import RenyiFilter


@runtime_checkable
class KnowsRho(Protocol):
    """A mechanism of the library with a rho of its own, below that of its guarantee."""

    neighbours: Neighbours

    def concentrated_rho(self) -> Fraction:
        """Return the rho of zCDP, rounded up."""


def priced(kept: Filter, mechanism: object, claim: Guarantee | None) -> tuple[Charged, Amounts]:
    """Return a mechanism as it is charged, with its costs, or raise why it is not.

    Raises:
        InvalidParameter: no mechanism, and no claim.
        IncompatibleClaims: other neighbours, no declared item, a claim that does not follow or that
            the budget has no cost for.
    """
    inner = mechanism.mechanism if isinstance(mechanism, Labelled) else mechanism
    if isinstance(kept, DeclaredFilter):
        costs = kept.price_of(inner)
        if claim is None and stated_guarantee(inner) is None:
            claim = kept.claim_of(inner)
        return read_charged(mechanism, claim), costs
    if isinstance(kept, RenyiFilter) and claim is None and _has_laws(inner):
        return _priced_by_losses(kept, mechanism, inner)
    charged = read_charged(mechanism, claim)
    # A rho that a stranger's object names was compared with nothing: its guarantee is charged.
    knows = isinstance(inner, KnowsRho) and is_ours(inner) and not isinstance(inner, Guarantee)
    if claim is not None or not knows:
        return charged, kept.price(charged.claim)
    assert isinstance(inner, KnowsRho)
    own = ZCDP(inner.concentrated_rho(), neighbours=inner.neighbours)
    if not _is_cheaper(kept, own, charged.claim):
        return charged, kept.price(charged.claim)
    return replace(charged, claim=own), kept.price(own)


def _has_laws(mechanism: object) -> bool:
    """Whether the library itself knows what a mechanism loses; of a stranger's its promise is
    charged, which was compared with its profile."""
    return is_ours(mechanism) and not isinstance(mechanism, Guarantee)


def _unknown_losses(mechanism: object) -> IncompatibleClaims:
    return IncompatibleClaims(
        expected="a mechanism with a guarantee, or with losses whose Renyi divergences are known",
        got=f"a {type(mechanism).__name__}, of which only a privacy profile is known",
        remedy=(
            "Pass claim=ApproxDP(epsilon, delta=), which is checked against the profile, or keep a "
            "ledger of declared items (allow=)"
        ),
    )


def _priced_by_losses(
    kept: RenyiFilter, mechanism: object, inner: object
) -> tuple[Charged, Amounts]:
    """Return a mechanism with the divergences of its own losses, or of its promise, if less."""
    stated = stated_guarantee(inner)
    if stated is not None and stated.is_average:
        return read_charged(mechanism, None), kept.price(stated)
    own = kept.costs_of(inner)
    promised = None if stated is None else kept.costs(stated)
    if own is None:
        if stated is None:
            raise _unknown_losses(inner)
        return read_charged(mechanism, None), kept.price(stated)
    charged = read_charged(mechanism, kept.claim_of(inner) if stated is None else None)
    require_same(kept.budget.neighbours, charged.claim.neighbours)
    if promised is not None and promised["delta"].at_most(own["delta"]):
        # Both are bounds: at each order the smaller one is.
        lower = {
            name: promised[name] if promised[name].at_most(cost) else cost
            for name, cost in own.items()
        }
        return charged, lower if promised["delta"] == own["delta"] else promised
    return charged, own


def _is_cheaper(kept: Filter, own: Guarantee, claim: Guarantee) -> bool:
    """Whether a claim costs no more than another in everything that is added up."""
    mine, theirs = kept.costs(own), kept.costs(claim)
    if mine is None or theirs is None:
        return theirs is None and mine is not None
    return all(mine[name].at_most(theirs[name]) for name in kept.limits if name in mine)
