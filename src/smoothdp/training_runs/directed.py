"""One direction of a pair of neighbours of which only one has the record."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from smoothdp.claims.curves.profile import PrivacyProfile
from smoothdp.claims.neighbours import Neighbours
from smoothdp.composition.composed_profile import ComposedProfile
from smoothdp.errors import IncompatibleClaims, InvalidParameter
from smoothdp.exact.logspace.bounds import LogBounds
from smoothdp.exact.parameters.numbers import Real

Way = Literal["remove", "add"]
"""Which database comes first: "remove" the one with the record, "add" the other one."""


def read_way(way: object, neighbours: Neighbours) -> Way:
    """Return the direction that a caller names, or raise what is wrong with it."""
    if neighbours is Neighbours.REPLACE_ONE:
        raise IncompatibleClaims(
            expected="neighbours of which one has the record, for one direction",
            got=f"neighbours={neighbours.value!r}",
            remedy="Use profile(), which covers both directions",
        )
    for known in get_args(Way):
        if isinstance(way, str) and way == known:
            return known  # type: ignore[no-any-return]
    raise InvalidParameter(
        expected='"remove" (the database with the record first) or "add"',
        got=f"{way!r}",
        remedy="Name one of the two directions",
    )


@dataclass(frozen=True)
class DirectedProfile(PrivacyProfile):
    """One direction of a composition whose items all say who has the record."""

    composed: ComposedProfile
    way: Way

    @property
    def neighbours(self) -> Neighbours:
        return self.composed.neighbours

    def log_delta_bounds(self, epsilon: Real) -> LogBounds:
        return self.composed.accountant.log_directed_bounds(
            epsilon, 0 if self.way == "remove" else 1
        )
