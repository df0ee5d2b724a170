"""Items of a composition, read: counts, neighbours, laws, models."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Protocol, runtime_checkable

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


@runtime_checkable
class StandsFor(Protocol):
    """Something that is composed as another item: parts of the records that all cost the same."""

    @property
    def stands_for(self) -> object | None:
        """The other item, if there is one."""


@dataclass(frozen=True, eq=False)
class Item:
    """One item of a composition, with what is known of it.

    Attributes:
        original: the object that the caller handed over.
        profile: its privacy profile.
        closed: the item comes from a composition of symmetrised items, so its directions are
            not read again.
    """

    original: Any
    profile: PrivacyProfile
    closed: bool = False

    @property
    def neighbours(self) -> Neighbours:
        """The neighbour relation."""
        return self.profile.neighbours

    @cached_property
    def laws(self) -> LossLaws | None:
        """The laws of its loss; None if only the profile is known."""
        original = self.original
        if isinstance(original, Guarantee):
            return guarantee_laws(original)
        if isinstance(original, HasLossLaws):
            return original.loss_laws()
        if isinstance(original, Pair):
            return pair_laws(original.atoms, self.neighbours, original.first)
        if isinstance(original, PairProfile):
            return pair_laws(original.forward.atoms, self.neighbours, original.first)
        if isinstance(original, TradeoffFunction):
            return pair_laws(original.segments, self.neighbours, None)
        return None

    @property
    def directions(self) -> tuple[LossBracket, LossBracket] | tuple[()]:
        """Its laws in the orientation that items share, if it may be read in one."""
        return () if self.closed or self.laws is None else self.laws.directions

    @property
    def key(self) -> tuple[int, bool]:
        """What is equal for items that are one and the same, used in the same way."""
        return id(self.original), self.closed

    @property
    def rho(self) -> Fraction | None:
        """The rho of zero-concentrated DP that it meets, if there is a finite one."""
        return self.original.concentrated_rho() if isinstance(self.original, Guarantee) else None

    @property
    def terms(self) -> Terms | None:
        """The notion in which it adds up, if it is a claim in one."""
        return self.original.terms() if isinstance(self.original, Guarantee) else None

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
    """Return the items with their counts, in order, or raise what is wrong with them."""
    if isinstance(items, str | bytes | Mapping) or not isinstance(items, Iterable):
        raise _no_list(items)
    read: list[tuple[Item, int]] = []
    for number, entry in enumerate(items, start=1):
        read.append(_read_one(entry, number))
    if not read:
        raise _no_list("an empty list")
    first = read[0][0]
    for item, _ in read[1:]:
        require_same(first.neighbours, item.neighbours)
    return read


def _read_one(entry: object, number: int) -> tuple[Item, int]:
    original, count = entry, 1
    if isinstance(entry, tuple):
        if len(entry) != 2:
            raise InvalidParameter(
                expected="(item, count)",
                got=f"a tuple of {len(entry)} as item {number}",
                remedy="Write (item, count), such as (PureDP(1), 10)",
            )
        original = entry[0]
        count = exact_int(entry[1], name=f"count of item {number}", minimum=1)
    if isinstance(original, StandsFor) and original.stands_for is not None:
        original = original.stands_for
    profile = _profile_of(original, number)
    # The profile of a claim is as good as the claim: a smoothed one keeps its model.
    if isinstance(original, ClaimedProfile):
        return Item(original.claim, profile), count
    owner = (
        getattr(original.bounds, "__self__", None)
        if isinstance(original, FunctionProfile)
        else None
    )
    if isinstance(owner, Guarantee | HasLossLaws) and _profile_of(owner, number) == original:
        original = owner
    return Item(original, profile), count


def _profile_of(original: object, number: int) -> PrivacyProfile:
    if isinstance(original, PrivacyProfile):
        return original
    if isinstance(original, TradeoffFunction):
        return Pair._of(original.segments).profile()
    maker = getattr(original, "profile", None)
    profile = maker() if callable(maker) and not isinstance(original, type) else None
    if isinstance(profile, PrivacyProfile):
        return profile
    raise InvalidParameter(
        expected=f"something with a privacy profile as item {number}",
        got=f"{original!r}",
        remedy="Give a guarantee, a mechanism, a pair, a profile, or (one of these, count)",
    )


def common_model(items: list[tuple[Item, int]]) -> DataModel | None:
    """Return the model of the smoothed claims, None without any; refuse two models.

    Claims about different random databases say nothing together
    (proofs/composition-at-a-database#6).
    """
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
        remedy="Give the released mechanisms or claims, such as [PureDP(1), (PureDP(1), 10)]",
    )
