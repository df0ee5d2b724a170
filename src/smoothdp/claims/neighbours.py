"""Which databases count as neighbours: a part of every claim."""

from __future__ import annotations

from enum import Enum

from smoothdp.errors import IncompatibleClaims, InvalidParameter


class Neighbours(Enum):
    """How two neighbouring databases differ.

    "zero_out": the records are as many, and one of them contributes nothing (a clipped gradient
    of 0), as a statistic, or a step of training, counts it. The number of records is public, and
    which of the two databases has the contribution is known.
    """

    REPLACE_ONE = "replace_one"
    ADD_REMOVE = "add_remove"
    ZERO_OUT = "zero_out"

    def sentence(self, unit: str) -> str:
        """Return the change that a claim protects against, in words."""
        if self is Neighbours.REPLACE_ONE:
            return f"replacing {unit} by any other (the number of records is public)"
        if self is Neighbours.ZERO_OUT:
            return f"taking out what {unit} contributes (the number of records is public)"
        return f"adding or removing {unit}"


def read_neighbours(value: Neighbours | str) -> Neighbours:
    """Return the neighbour relation that a caller named, or raise InvalidParameter."""
    try:
        return Neighbours(value)
    except ValueError:
        raise InvalidParameter(
            expected='neighbours "replace_one", "add_remove" or "zero_out"',
            got=f"neighbours={value!r}",
            remedy="Name replace_one if the number of records is public, else add_remove",
        ) from None


def read_statistic_neighbours(value: Neighbours | str) -> Neighbours:
    """Return the relation of a statistic's sensitivity: replacing, or adding and removing."""
    relation = read_neighbours(value)
    if relation is Neighbours.ZERO_OUT:
        raise InvalidParameter(
            expected='neighbours "replace_one" or "add_remove" for a statistic',
            got=f"neighbours={relation.value!r}",
            remedy="Name replace_one, which covers a record that contributes nothing",
        )
    return relation


def require_same(first: Neighbours, second: Neighbours) -> None:
    """Raise IncompatibleClaims unless both claims are about the same neighbours."""
    if first is not second:
        remedy = "Name the same neighbours for both"
        if Neighbours.ZERO_OUT not in (first, second):
            remedy += (
                ", or turn the claim about add_remove into one about replace_one with "
                "guarantee.as_replace_one(); there is no way back"
            )
        raise IncompatibleClaims(
            expected="claims about the same neighbours",
            got=f"{first.value} and {second.value}",
            remedy=remedy,
        )
