"""Filters: when may one more release be made, if it was chosen after seeing the earlier ones?

A filter adds up costs and refuses what would pass a limit. It is valid for a family of claims
C_b that is closed under adaptive composition: if a first mechanism meets C_a, and whatever
follows meets C_b for *every* first output, then both together meet C_(a+b). Then everything
released under a limit B, by any strategy that chooses each mechanism and its cost from the
outputs before it, meets C_B. Proof, by induction on the number of releases: the first cost a
is chosen before any output, so it is a constant, and after any output the rest is a strategy
with limit B - a, which meets C_(B - a). (The strategy's own coins are fixed first; charges
that are never used change nothing.)

(proofs/privacy-filters#1, and what is no filter: #5.)

So each filter below rests on one composition step, with *constants* a and b:

pure and approximate DP, costs (epsilon, delta): for f with values in [0, 1],
    E_P f <= e^e1 E_Q f + d1. With f(y) = min(1, e^e2 Q(S | y)):
    P(S) <= E_P[f] + d2 <= e^(e1 + e2) Q(S) + d1 + d2.
    (Rogers, Roth, Ullman, Vadhan 2016: basic composition is a filter.)
zCDP, cost rho, and truncated CDP with one omega: with r = dP/dQ, for each order a,
    E_Q[r1^a E[r2^a | y]] <= e^(a(a-1)(rho1 + rho2)). (Feldman, Zrnic 2021.)
Gaussian DP, cost mu^2: G_m1 composed with G_m2 is G of sqrt(m1^2 + m2^2), and adaptive
    composition of trade-off functions holds with one function for every first output
    (Dong, Roth, Su 2022; as a filter: Smith, Thakurta 2022).
approximate zCDP, costs (rho, delta): both laws are mixtures of a part of weight 1 - delta in
    which rho-zCDP holds, and a rest. Weights multiply: (1 - d1)(1 - d2) >= 1 - d1 - d2, and
    the good parts compose as zCDP. In the end (epsilon, d + D')-DP holds, where D' is delta of
    rho-zCDP at epsilon. (Bun, Steinke 2016, section 8; Whitehouse, Ramdas, Rogers, Wu 2023.)
Renyi divergences at orders that are fixed before the first release, costs D_a at each and delta:
    the same inequality as for zCDP, order by order (proofs/privacy-filters#6).

No such step exists for whole privacy profiles: how much is left after a release would depend
on what came out. A curve is therefore no budget here.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from smoothdp.claims.guarantees.guarantee import Guarantee
from smoothdp.claims.neighbours import Neighbours
from smoothdp.errors import IncompatibleClaims
from smoothdp.ledger.amount import ZERO, Amount
from smoothdp.sources import Source

Amounts = Mapping[str, Amount]
"""Costs by currency, such as "epsilon" and "delta"."""
WITHIN = (
    "What was spent is within the budget; of releases that were chosen after seeing others, the "
    "budget is what is proved."
)


@dataclass(frozen=True)
class Filter(ABC):
    """The rule by which a budget is kept.

    Attributes:
        budget: the claim that everything released together meets.
        limits: the most that may be spent, by currency.
    """

    source: ClassVar[Source]
    sums_of_claims: ClassVar[bool] = True
    """Whether the claims of the charges add up to what is spent. Else they are what each charge
    promises by itself, and their sum says nothing about the budget."""
    budget: Guarantee
    limits: Amounts

    @abstractmethod
    def costs(self, claim: Guarantee) -> Amounts | None:
        """Return the costs of a claim, rounded up; None if it has none in these currencies."""

    @abstractmethod
    def spent(self, amounts: Amounts) -> Guarantee:
        """Return all charges as one claim, valid if all of it had been fixed in advance."""

    @abstractmethod
    def left(self, amounts: Amounts) -> Guarantee:
        """Return a claim that may still be spent."""

    def epsilon(self, amounts: Amounts, delta: Fraction) -> float:  # noqa: ARG002
        """Return an epsilon of all charges at a delta, valid if all had been fixed in advance.

        inf where the amounts tell none.
        """
        return math.inf

    def sentence(self, amounts: Amounts) -> str:
        """Return what was spent and what is left, in words that fit what is added up."""
        return (
            f"Spent: {self.spent(amounts)!r}, if all of it had been fixed in advance. "
            f"Left: {self.left(amounts)!r}. {WITHIN}"
        )

    def price(self, claim: Guarantee) -> Amounts:
        """Return the costs of a claim, or raise IncompatibleClaims if it has none here."""
        self._check_neighbours(claim)
        costs = self.costs(claim)
        if costs is None:
            raise IncompatibleClaims(
                expected=(
                    f"a claim that a budget of {type(self.budget).__name__} can be charged with "
                    f"({', '.join(self.limits)})"
                ),
                got=f"{claim!r}",
                remedy=(
                    "Ask for a guarantee of the budget's kind, or use a ledger with another budget "
                    "(in Python: or pass claim= with what follows in the budget's notion)"
                ),
            )
        return costs

    def _check_neighbours(self, claim: Guarantee) -> None:
        """Refuse a claim about other neighbours, naming the ledger that takes it.

        Raises:
            IncompatibleClaims: neighbours that are not the budget's.
        """
        if claim.neighbours is self.budget.neighbours:
            return
        about = claim.neighbours
        option = (
            f"without --neighbours {self.budget.neighbours.value}"
            if about is Neighbours.REPLACE_ONE
            else f"with --neighbours {about.value}"
        )
        promise, budget = (one.neighbours.sentence("a row") for one in (claim, self.budget))
        raise IncompatibleClaims(
            expected="a promise with the same neighbours as the budget of the ledger",
            got=f"a promise about {promise}, and a budget about {budget}",
            remedy=(
                f"Use a ledger made {option}, by smoothdp account create (in Python: a budget with "
                f"neighbours={about.value!r})"
            ),
        )

    def nothing(self) -> dict[str, Amount]:
        """Return amounts of zero."""
        return dict.fromkeys(self.limits, ZERO)

    def total(self, spent: Amounts, costs: Amounts) -> dict[str, Amount]:
        """Return the amounts spent after one more charge."""
        return {name: spent[name] + costs.get(name, ZERO) for name in self.limits}

    def excess(self, total: Amounts) -> list[str]:
        """Return the currencies in which a total passes its limit."""
        return [name for name, limit in self.limits.items() if not total[name].at_most(limit)]

    def remaining(self, spent: Amounts) -> dict[str, Amount]:
        """Return the limits less the amounts spent."""
        return {name: limit - spent[name] for name, limit in self.limits.items()}
