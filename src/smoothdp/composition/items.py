"""Reading what is to be composed: items, counts, neighbours, models."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

from smoothdp.claims.curves.atoms import Atoms
from smoothdp.claims.curves.first import First
from smoothdp.claims.curves.pair import Pair, PairProfile
from smoothdp.claims.curves.profile import FunctionProfile, PrivacyProfile
from smoothdp.claims.curves.tradeoff import TradeoffFunction
from smoothdp.claims.guarantees.guarantee import Guarantee
from smoothdp.claims.guarantees.standard import ClaimedProfile
from smoothdp.claims.model.model import DataModel
from smoothdp.claims.neighbours import Neighbours, require_same
from smoothdp.claims.terms import AverageTerms, Terms
from smoothdp.composition.laws.guarantees import guarantee_laws
from smoothdp.composition.laws.law import HasLossLaws, LossBracket, LossLaws, known
from smoothdp.composition.laws.symmetrise import both_directions, symmetrised
from smoothdp.errors import IncompatibleClaims, InvalidParameter
from smoothdp.exact.parameters.numbers import exact_int


@dataclass(frozen=True, eq=False)
class Item:
    """One thing that is composed, with what is known of it.

    Attributes:
        given: what was handed over.
        profile: its privacy profile.
        closed: it comes out of a composition that was made of symmetrised items, so its
            directions are not read again.
    """

    given: Any
    profile: PrivacyProfile
    closed: bool = False

    @property
    def neighbours(self) -> Neighbours:
        """The neighbour relation."""
        return self.profile.neighbours

    @cached_property
    def laws(self) -> LossLaws | None:
        """The laws of its loss; None if only the profile is known."""
        given = self.given
        if isinstance(given, Guarantee):
            return guarantee_laws(given)
        if isinstance(given, HasLossLaws):
            return given.loss_laws()
        if isinstance(given, Pair):
            return pair_laws(given.atoms, self.neighbours, given.first)
        if isinstance(given, PairProfile):
            return pair_laws(given.forward.atoms, self.neighbours, given.first)
        if isinstance(given, TradeoffFunction):
            return pair_laws(given.segments, self.neighbours, None)
        return None

    @property
    def directions(self) -> tuple[LossBracket, LossBracket] | tuple[()]:
        """Its laws in the orientation that items share, if it may be read in one."""
        return () if self.closed or self.laws is None else self.laws.directions

    @property
    def key(self) -> tuple[int, bool]:
        """What is equal for items that are one and the same, used in the same way."""
        return id(self.given), self.closed

    @property
    def rho(self) -> Fraction | None:
        """The rho of zero-concentrated DP that it meets, if there is a finite one."""
        return self.given.concentrated_rho() if isinstance(self.given, Guarantee) else None

    @property
    def terms(self) -> Terms | None:
        """The notion in which it adds up, if it is a claim in one."""
        return self.given.terms() if isinstance(self.given, Guarantee) else None

    @property
    def average(self) -> AverageTerms | None:
        """What it promises on average over a model, if it is such a claim."""
        return self.terms if isinstance(self.terms, AverageTerms) else None


def pair_laws(atoms: Atoms, neighbours: Neighbours, first: First | None) -> LossLaws:
    """Return the laws of a finite pair, symmetrised, and of both directions where they can share
    an orientation with others: not if one database has a record more and nobody says which.
    """
    forward, backward = both_directions(atoms)
    whole = symmetrised(forward, backward)
    if neighbours is not Neighbours.REPLACE_ONE and first is None:
        return LossLaws(neighbours, whole)
    ways = (known(forward), known(backward))
    return LossLaws(neighbours, whole, ways if first != "without_record" else ways[::-1])


def read_items(items: object) -> list[tuple[Item, int]]:
    """Return the items with their counts as they were given, or raise what is wrong with them."""
    if isinstance(items, str | bytes | Mapping) or not isinstance(items, Iterable):
        raise _no_list(items)
    found: list[tuple[Item, int]] = []
    for place, entry in enumerate(items, start=1):
        found.append(_read_one(entry, place))
    if not found:
        raise _no_list("an empty list")
    first = found[0][0]
    for item, _ in found[1:]:
        require_same(first.neighbours, item.neighbours)
    return found


def _read_one(entry: object, place: int) -> tuple[Item, int]:
    given, count = entry, 1
    if isinstance(entry, tuple):
        if len(entry) != 2:
            raise InvalidParameter(
                expected="(item, count)",
                got=f"a tuple of {len(entry)} as item {place}",
                remedy="Give both",
            )
        given = entry[0]
        count = exact_int(entry[1], name=f"count of item {place}", minimum=1)
    profile = _profile_of(given, place)
    # The profile of a claim is as good as the claim: a smoothed one keeps its model.
    if isinstance(given, ClaimedProfile):
        return Item(given.claim, profile), count
    owner = getattr(given.bounds, "__self__", None) if isinstance(given, FunctionProfile) else None
    if isinstance(owner, Guarantee | HasLossLaws) and _profile_of(owner, place) == given:
        given = owner
    return Item(given, profile), count


def _profile_of(given: object, place: int) -> PrivacyProfile:
    if isinstance(given, PrivacyProfile):
        return given
    if isinstance(given, TradeoffFunction):
        return Pair._of(given.segments).profile()
    maker = getattr(given, "profile", None)
    found = maker() if callable(maker) and not isinstance(given, type) else None
    if isinstance(found, PrivacyProfile):
        return found
    raise InvalidParameter(
        expected=f"something with a privacy profile as item {place}",
        got=f"{given!r}",
        remedy="Give a guarantee, a mechanism, a pair, a profile, or (one of these, count)",
    )


def common_model(items: list[tuple[Item, int]]) -> DataModel | None:
    """Return the model of the smoothed claims, None without any; refuse two models."""
    models = [item.average.model for item, _ in items if item.average is not None]
    for model in models[1:]:
        if not model.same_hull(models[0]):
            raise IncompatibleClaims(
                expected="smoothed claims over the same model",
                got=(
                    f"models of {models[0].n_vertices} and {model.n_vertices} "
                    "different distributions"
                ),
                remedy="Measure both mechanisms over one model, such as first.model | second.model",
            )
    return models[0] if models else None


def _no_list(got: object) -> InvalidParameter:
    return InvalidParameter(
        expected="a list of at least one item or (item, count)",
        got=f"{got}",
        remedy="Give what is released",
    )
