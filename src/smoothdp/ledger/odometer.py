"""Which of several levels a ledger has not passed: what may be said of a run that is stopped.

Source: proofs/privacy-filters#3.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from smoothdp.claims.guarantees.guarantee import Guarantee
from smoothdp.claims.neighbours import require_same
from smoothdp.errors import InvalidParameter
from smoothdp.ledger.budgets import filter_of
from smoothdp.ledger.declared import DeclaredFilter
from smoothdp.ledger.filters import Amounts, Filter
from smoothdp.ledger.prices.renyi_filter import RenyiFilter
from smoothdp.ledger.sum_filters import ConcentratedFilter, GaussianFilter

_KEPT = {ConcentratedFilter: "concentrated", GaussianFilter: "gdp", RenyiFilter: "renyi"}


def first_level(kept: Filter, levels: Sequence[Guarantee], spent: Amounts) -> Guarantee | None:
    """Return the first level whose filter would have accepted all that was spent."""
    if not isinstance(levels, Sequence) or isinstance(levels, str) or not levels:
        raise _no_levels(f"{levels!r}")
    if isinstance(kept, DeclaredFilter):
        raise InvalidParameter(
            expected="a ledger whose costs are epsilon, rho or mu",
            got="one of declared items",
            remedy="Ask for spent(): declared items have a curve of their own",
        )
    filters = [_filter_of_level(kept, level) for level in levels]
    for before, after in pairwise(filters):
        if not all(before.limits[name].at_most(after.limits[name]) for name in before.limits):
            raise _no_levels(f"{after.budget!r} after {before.budget!r}")
    for level in filters:
        if not level.excess(spent):
            return level.budget
    return None


def _filter_of_level(kept: Filter, level: Guarantee) -> Filter:
    if not isinstance(level, Guarantee) or level.is_average or kept.budget.is_average:
        raise _no_levels(f"{level!r}")
    require_same(kept.budget.neighbours, level.neighbours)
    orders = kept.orders if isinstance(kept, RenyiFilter) else None
    found = filter_of(level, kept=_KEPT.get(type(kept)), orders=orders)
    terms, own = level.terms(), kept.budget.terms()
    omegas = getattr(terms, "omega", None), getattr(own, "omega", None)
    if type(found) is not type(kept) or omegas[0] != omegas[1]:
        raise _no_levels(f"{level!r} for a ledger of {kept.budget!r}")
    return found


def _no_levels(got: str) -> InvalidParameter:
    return InvalidParameter(
        expected="levels in the budget's notion, each weaker than the one before",
        got=got,
        remedy="Give levels such as [ApproxDP(0.5, delta=1e-6), ApproxDP(1, delta=1e-6)]",
    )
