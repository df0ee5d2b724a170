"""Compositions as items of compositions: opened only in the representation they were made in.

A composition is made either of symmetrised items, or of items in one orientation that all
share. What it promises is the profile of that product, or the larger of the two products.
Another representation may fall below that profile: of two pairs composed without an
orientation, .634 at epsilon 1, the two orientations alone make .597.

made of          used among             how
symmetrised      anything               its items one by one, each symmetrised for good
one orientation  one orientation        its items one by one, as they are
one orientation  symmetrised            whole: one law, above the larger of both products

So no composition lies below one that is its item: a product of laws never falls when one of
them is replaced by a law above it (proofs/symmetrised-composition#3), and each line of the table
keeps the laws or goes above.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property

from smoothdp.composition.composed_profile import ComposedProfile
from smoothdp.composition.items import Item
from smoothdp.composition.laws.atoms import AtomsLaw
from smoothdp.composition.laws.law import LossLaws, Slack
from smoothdp.composition.laws.symmetrise import directed_law, symmetrised
from smoothdp.composition.routes.solver import Solver

Counted = tuple[Item, int]


@dataclass(frozen=True, eq=False)
class WholeItem(Item):
    """A composition in one orientation, among items that are symmetrised.

    Its law is that of the larger of both products where all of their atoms are few; else
    only its profile is read.
    """

    @cached_property
    def laws(self) -> LossLaws | None:
        """The larger of both products."""
        assert isinstance(self.profile, ComposedProfile)
        accountant = self.profile.accountant
        if accountant.has_grid:
            return None
        sides = accountant.sides(0)
        if any(side.lower is not side.upper for side in sides):
            return None
        ways = [_joint_law(side.upper) for side in sides]
        if ways[0] is None or ways[1] is None:
            return None
        return LossLaws(self.neighbours, symmetrised(ways[0], ways[1]))


def _joint_law(solver: Solver) -> AtomsLaw | None:
    """Return the law of the sum of all losses of a product, None if its atoms are too many."""
    if solver.atoms is None:
        return None
    law, more = directed_law(solver.atoms), solver.product.slack
    slack = Slack(law.slack.mass + more.mass, law.slack.loss + more.loss)
    return AtomsLaw(law.log_masses, law.losses, solver.product.log_infinite, slack)


def unnested(items: Iterable[Counted], *, aligned: bool) -> list[Counted]:
    """Return the items that are multiplied: those of compositions among the items one by one.

    Args:
        items: those of the caller, with counts.
        aligned: whether the composition to be made has one orientation for all.
    """
    parts: list[Counted] = []
    for item, count in items:
        if not isinstance(item.profile, ComposedProfile):
            parts.append((item, count))
            continue
        inner = item.profile.accountant
        smoothed = any(inside.average is not None for inside, _ in inner.items)
        if inner.two_ways and not aligned and not smoothed:
            parts.append((WholeItem(item.original, item.profile), count))
            continue
        # A smoothed claim keeps its model only as an item: its companions are symmetrised.
        keep = inner.aligned and aligned
        parts += [
            (inside if keep else replace(inside, closed=True), count * times)
            for inside, times in inner.items
        ]
    return parts
