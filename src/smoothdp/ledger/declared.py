"""Allowances: counts of items that were declared before the first release, at their tight sum.

A curve is no budget for releases that are chosen on the way. The list of items may be fixed
instead, with how often each may be used: then their composition is paid once, as tight as
`compose` has it, and order, use and stopping may follow all outputs (proofs/privacy-filters#4).
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable
from dataclasses import dataclass, field, fields, is_dataclass
from enum import Enum
from fractions import Fraction
from typing import Any, ClassVar

from smoothdp.claims.guarantees.guarantee import Guarantee
from smoothdp.claims.guarantees.standard import ApproxDP
from smoothdp.claims.neighbours import require_same
from smoothdp.claims.terms import EpsilonTerms
from smoothdp.composition.compose import compose
from smoothdp.composition.items import read_items
from smoothdp.errors import IncompatibleClaims, InvalidParameter
from smoothdp.exact.parameters.numbers import LogRatio, exact_text
from smoothdp.ledger.amount import Amount
from smoothdp.ledger.filters import WITHIN, Amounts, Filter
from smoothdp.sources import Source

_DIGEST = 16


@dataclass(frozen=True)
class DeclaredFilter(Filter):
    """Counts of declared items: each charge uses one item up, once.

    The counts add up as any vector of costs does, and the items within the limits compose, in any
    order and with any stopping, to what `compose` says of all of them.

    Attributes:
        names: what each currency counts, in words.
        items: the declared items with counts; None in a ledger that was opened without them.
    """

    source: ClassVar[Source] = Source("zhu-dong-wang", "Theorem 10, as a filter of counts")
    sums_of_claims: ClassVar[bool] = False
    names: tuple[str, ...]
    items: tuple[tuple[Any, int], ...] | None = field(default=None, compare=False, repr=False)

    def costs(self, claim: Guarantee) -> Amounts | None:
        """Return one use of a claim that was declared as an item; None of another."""
        return self.use_of(claim)

    def use_of(self, mechanism: object) -> dict[str, Amount] | None:
        """Return one use of a declared item, None of anything else."""
        try:
            name = currency_of(mechanism)
        except InvalidParameter:
            return None
        return {name: Amount(Fraction(1))} if name in self.limits else None

    def price_of(self, mechanism: object) -> Amounts:
        """Return one use of a declared item, or raise IncompatibleClaims."""
        used = self.use_of(mechanism)
        if used is None:
            raise IncompatibleClaims(
                expected=f"one of the declared items ({'; '.join(self.names)})",
                got=f"{type(mechanism).__name__}, with other parameters or not among them",
                remedy="Charge a declared item, or keep another ledger for what was not declared",
            )
        return used

    def claim_of(self, mechanism: object) -> Guarantee:
        """Return what one use of an item promises at the budget's epsilon."""
        epsilon, _ = _terms(self.budget)
        delta = compose([mechanism]).delta(epsilon)
        return ApproxDP(epsilon, delta=delta, neighbours=self.budget.neighbours)

    def spent(self, amounts: Amounts) -> Guarantee:
        """Return what the items used so far meet together; the budget if the items are unknown."""
        used = {name: int(amounts[name].rational) for name in self.limits}
        if not any(used.values()):
            return self.budget.changed(**dict.fromkeys(self.budget.parameters(), 0))
        if self.items is None:
            return self.budget
        _, delta = _terms(self.budget)
        epsilon = self.epsilon(amounts, delta)
        return ApproxDP(epsilon, delta=delta, neighbours=self.budget.neighbours)

    def epsilon(self, amounts: Amounts, delta: Fraction) -> float:
        """Return the epsilon of the items used so far together; inf if the items are unknown."""
        used = {name: int(amounts[name].rational) for name in self.limits}
        if not any(used.values()):
            return 0.0
        if self.items is None:
            return math.inf
        counted = [
            (item, used[currency_of(item)]) for item, _ in self.items if used[currency_of(item)]
        ]
        return compose(counted).epsilon(delta)

    def sentence(self, amounts: Amounts) -> str:
        """Return how many uses of each item are left."""
        rest = self.remaining(amounts)
        left = "; ".join(
            f"{rest[name].rational} of {limit.rational} uses of {name}"
            for name, limit in self.limits.items()
        )
        return (
            f"Spent: had all of it been fixed in advance, {self.spent(amounts)!r}. Left: {left}. "
            f"No other charge is taken. {WITHIN}"
        )

    def left(self, amounts: Amounts) -> Guarantee:  # noqa: ARG002
        """Return a claim of nothing: no claim may be spent, only what is left of the items."""
        return self.budget.changed(**dict.fromkeys(self.budget.parameters(), 0))


def declared_filter(budget: Guarantee, allow: Iterable[Any]) -> DeclaredFilter:
    """Return the filter of declared items, once they are certain to meet the budget together."""
    epsilon, delta = _terms(budget)
    entries = list(allow) if isinstance(allow, Iterable) else allow
    read = read_items(entries)
    for item, _ in read:
        require_same(item.neighbours, budget.neighbours)
        if item.average is not None:
            raise IncompatibleClaims(
                expected="declared items that hold for every database",
                got=f"{item.original!r}, which holds on average and adapts to nothing",
                remedy="Keep a budget SmoothedDP with adaptive=False",
            )
    given = [entry[0] if isinstance(entry, tuple) else entry for entry in entries]
    items = tuple((one, count) for one, (_, count) in zip(given, read, strict=True))
    profile = compose(items)
    if not profile.keeps(epsilon, delta):
        raise InvalidParameter(
            expected=f"declared items that meet {budget!r} together",
            got=f"delta of up to {profile.delta(epsilon):.6g} at its epsilon",
            remedy="Lower the counts (sd.calibrate finds them), or raise the budget",
        )
    limits: dict[str, Amount] = {}
    for item, count in items:
        name = currency_of(item)
        if name in limits:
            raise InvalidParameter(
                expected="each item once, with its count",
                got=f"{name} twice",
                remedy="Add up its counts",
            )
        limits[name] = Amount(Fraction(count))
    return DeclaredFilter(budget, limits, tuple(limits), items)


def currency_of(mechanism: object) -> str:
    """Return the name under which uses of an item are counted: its class, and all it is made of.

    Two items have one name only if all their parameters are equal.

    >>> from smoothdp.claims import PureDP
    >>> currency_of(PureDP(1)) == currency_of(PureDP("1.0")), currency_of(PureDP(2))[:7]
    (True, 'PureDP ')
    """
    text = json.dumps(_canonical(mechanism), sort_keys=True)
    return f"{type(mechanism).__name__} {hashlib.sha256(text.encode()).hexdigest()[:_DIGEST]}"


def _canonical(value: object) -> Any:
    """Return all of a value as plain data, or raise InvalidParameter."""
    if isinstance(value, Guarantee):
        return ["guarantee", value.to_json()]
    if isinstance(value, Enum):
        return [type(value).__name__, str(value.value)]
    if isinstance(value, Fraction | LogRatio):
        return exact_text(value)
    if value is None or isinstance(value, bool | int | str):
        return [type(value).__name__, value]
    if isinstance(value, float):
        return value.hex()
    if isinstance(value, tuple):
        return [_canonical(part) for part in value]
    if is_dataclass(value) and not isinstance(value, type):
        compared = [one.name for one in fields(value) if one.compare]
        parts = {name: _canonical(getattr(value, name)) for name in compared}
        return [f"{type(value).__module__}.{type(value).__qualname__}", parts]
    raise InvalidParameter(
        expected="declared items made of numbers and words, such as mechanisms and guarantees",
        got=f"a {type(value).__name__}",
        remedy="Declare the mechanism or the guarantee itself",
    )


def _terms(budget: Guarantee) -> tuple[Any, Fraction]:
    terms = budget.terms()
    if not isinstance(terms, EpsilonTerms):
        raise InvalidParameter(
            expected="a budget ApproxDP or PureDP for declared items",
            got=f"{budget!r}",
            remedy="Give the (epsilon, delta) that all declared items together shall meet",
        )
    return terms.epsilon, terms.delta
