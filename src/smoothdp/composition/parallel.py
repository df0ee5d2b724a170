"""Parallel composition: mechanisms on disjoint parts of the records."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Literal

from smoothdp.claims.curves.group_profile import group_profile
from smoothdp.claims.curves.profile import PrivacyProfile
from smoothdp.claims.guarantees.guarantee import Guarantee, stated_guarantee
from smoothdp.claims.neighbours import Neighbours
from smoothdp.composition.accountant import Accountant
from smoothdp.composition.composed_profile import ComposedProfile
from smoothdp.composition.items import Item, read_items
from smoothdp.errors import IncompatibleClaims, InvalidParameter
from smoothdp.exact.logspace.bounds import LogBounds
from smoothdp.exact.parameters.numbers import Parameter, Real
from smoothdp.sources import Source

Split = Literal["by_position", "by_value"]


@dataclass(frozen=True)
class LargestProfile(PrivacyProfile):
    """The pointwise largest of several profiles."""

    profiles: tuple[PrivacyProfile, ...]
    about: Neighbours

    @property
    def neighbours(self) -> Neighbours:
        return self.about

    def log_delta_bounds(self, epsilon: Real) -> LogBounds:
        bounds = [profile.log_delta_bounds(epsilon) for profile in self.profiles]
        return LogBounds(max(b.lower for b in bounds), max(b.upper for b in bounds))

    def epsilon_bounds(self, delta: Parameter) -> tuple[float, float]:
        """Return floats around the largest epsilon of any part: a claim knows its own delta."""
        bounds = [profile.epsilon_bounds(delta) for profile in self.profiles]
        return max(below for below, _ in bounds), max(above for _, above in bounds)

    def keeps(self, epsilon: Real, delta: Fraction) -> bool:
        """Return whether every part keeps (epsilon, delta)."""
        return all(profile.keeps(epsilon, delta) for profile in self.profiles)


class Parallel:
    """Releases that each see their own part of the records: one item of a composition.

    Neighbours differ in one part, so the item costs what the dearest part costs, not the sum.
    That is so under add_remove for parts by value (the rows of each region), and under either
    relation for parts by position. Replacing a record may take it from one part to another: two
    parts change, so parts by value under replace_one are refused here, and cost two
    (`replace_one_parallel`).

    Source: proofs/tables#1.

    Args:
        items: one mechanism, guarantee or profile per part; (item, count) is no part: compose
            the releases of one part first.
        split: "by_value" or "by_position", as for `compose_parallel`.

    Raises:
        InvalidParameter: no parts, a part without a profile, a smoothed claim, another split.
        IncompatibleClaims: parts about different neighbours, or "by_value" under replace_one.

    >>> import smoothdp as sd
    >>> north, south = (sd.PureDP(e, neighbours="add_remove") for e in (1, 2))
    >>> sd.compose([sd.Parallel([north, south], split="by_value"), north]).epsilon(0)
    3.0
    """

    source: ClassVar[Source] = Source("own", "proofs/tables#1")

    def __init__(self, items: Iterable[Any], *, split: Split) -> None:
        parts = [part.original for part in _parts(items)]
        self.items = tuple(parts)
        self.split = split
        self._profile = compose_parallel(parts, split=split)

    def profile(self) -> PrivacyProfile:
        """Return the pointwise largest profile of the parts."""
        return self._profile

    @property
    def guarantee(self) -> Guarantee | None:
        """The claim of the part whose claim all others imply; None if there is none."""
        claims = [stated_guarantee(item) for item in self.items]
        stated = [claim for claim in claims if claim is not None]
        if len(stated) < len(claims):
            return None
        for claim in dict.fromkeys(stated):
            if all(other == claim or other.implies(claim) for other in stated):
                return claim
        return None

    @property
    def stands_for(self) -> object | None:
        """The part that all parts are the same as, or imply: composed as it is; None without."""
        if all(isinstance(item, Guarantee) for item in self.items):
            return self.guarantee
        try:
            same = len(set(self.items)) == 1
        except TypeError:
            return None
        return self.items[0] if same else None

    def describe(self) -> str:
        """Return the item in words."""
        return f"{len(self.items)} parts of the records, {self.split.replace('_', ' ')}"

    def __repr__(self) -> str:
        return f"Parallel({list(self.items)!r}, split={self.split!r})"


def compose_parallel(items: Iterable[Any], *, split: Split) -> PrivacyProfile:
    """Return the profile of mechanisms that each see their own part of the records.

    Args:
        items: one mechanism, guarantee or profile per part.
        split: "by_position": which rows go where does not depend on their content. Neighbours
            then differ in one part: the pointwise largest profile, for either relation.
            "by_value": a record's content decides its part. Adding or removing a record
            changes one part, so claims under add_remove keep the largest profile; see
            `replace_one_parallel` for replacing one.

    Raises:
        IncompatibleClaims: "by_value" with replace_one claims: a replaced record may leave
            one part and enter another, so the parts' sizes are not public and two parts change.

    >>> from smoothdp.claims import PureDP
    >>> parts = [PureDP(1, neighbours="add_remove"), PureDP(2, neighbours="add_remove")]
    >>> compose_parallel(parts, split="by_value").epsilon(0)
    2.0
    """
    read = _parts(items)
    about = read[0].neighbours
    if split not in ("by_position", "by_value"):
        raise InvalidParameter(
            expected='split "by_position" or "by_value"',
            got=f"split={split!r}",
            remedy="Name by_value if the content of a record decides its part, else by_position",
        )
    if split == "by_value" and about is not Neighbours.ADD_REMOVE:
        raise IncompatibleClaims(
            expected="claims under add_remove neighbours for parts chosen by value",
            got=about.value,
            remedy=(
                "Replacing a record may change two parts and their sizes: state each part's claim "
                "for add_remove and use replace_one_parallel"
            ),
        )
    return LargestProfile(tuple(item.profile for item in read), about)


def replace_one_parallel(items: Iterable[Any]) -> PrivacyProfile:
    """Return the profile under replace_one of parts chosen by value, from add_remove claims.

    The replaced record leaves one part and enters another: both change, one loses a record
    and one gains one, so the two compose in opposite orientations (symmetrised). If it stays
    in its part, two records of that part change: group privacy.

    Raises:
        IncompatibleClaims: claims that are not about add_remove neighbours.

    >>> from smoothdp.claims import PureDP
    >>> parts = [PureDP(1, neighbours="add_remove"), PureDP(2, neighbours="add_remove")]
    >>> replace_one_parallel(parts).epsilon(0)
    4.0
    """
    read = _parts(items)
    if read[0].neighbours is not Neighbours.ADD_REMOVE:
        raise IncompatibleClaims(
            expected="claims under add_remove neighbours",
            got=read[0].neighbours.value,
            remedy="State each part's claim for adding or removing a record",
        )
    profiles: list[PrivacyProfile] = [group_profile(item.profile, n_records=2) for item in read]
    for position, first in enumerate(read):
        for second in read[position + 1 :]:
            profiles.append(_opposite(first, second))
    return LargestProfile(tuple(profiles), Neighbours.REPLACE_ONE)


def _opposite(first: Item, second: Item) -> PrivacyProfile:
    accountant = Accountant([(first, 1), (second, 1)], "any", 1e-5, patient=False)
    return ComposedProfile(accountant)


def _parts(items: Iterable[Any]) -> Sequence[Item]:
    read = read_items(items)
    for item, count in read:
        if count != 1 or item.average is not None:
            raise InvalidParameter(
                expected="one ordinary claim per part",
                got=f"{item.original!r} x {count}",
                remedy="Compose the claims of one part with compose() first",
            )
    return [item for item, _ in read]
