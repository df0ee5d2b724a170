"""Parallel composition: mechanisms on disjoint parts of the records."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from smoothdp.claims.curves.group_profile import group_profile
from smoothdp.claims.curves.profile import PrivacyProfile
from smoothdp.claims.neighbours import Neighbours
from smoothdp.composition.accountant import Accountant
from smoothdp.composition.composed_profile import ComposedProfile
from smoothdp.composition.items import Item, read_items
from smoothdp.errors import IncompatibleClaims, InvalidParameter
from smoothdp.exact.logspace.bounds import LogBounds
from smoothdp.exact.parameters.numbers import Real

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
