"""A user's datum as it was typed or given, read as the protocol takes it."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from typing import Any, Protocol

from smoothdp.errors import InvalidData
from smoothdp.exact.parameters.numbers import exact_fraction
from smoothdp.services.formats.design.protocols import BINNED


class Asks(Protocol):
    """What of a task says which data it takes."""

    @property
    def protocol(self) -> str:
        """The name of the protocol."""

    @property
    def size(self) -> int:
        """Bins of a histogram."""

    @property
    def bounds(self) -> tuple[str, ...]:
        """Lower and upper end of a number, or none."""

    @property
    def domain(self) -> tuple[str, ...]:
        """The names of bins, or none."""


def read_datum(task: Asks, datum: Any) -> Any:
    """Return a user's datum as the protocol takes it: a bit, a share of the bounds, a bin.

    Raises:
        InvalidData: a datum outside the task's domain; it is not repeated in the words.

    >>> from types import SimpleNamespace
    >>> task = SimpleNamespace(protocol="real_sum", size=8, bounds=("0", "10"), domain=())
    >>> read_datum(task, "2.5"), read_datum(task, 11)
    (Fraction(1, 4), Fraction(1, 1))
    """
    if task.bounds:
        low, high = (Fraction(bound) for bound in task.bounds)
        value = _number(datum)
        if value is None:
            raise _not_a("number")
        return (min(max(value, low), high) - low) / (high - low)
    if task.domain:
        place = _places(task.domain).get(datum) if isinstance(datum, str) else None
        if place is None:
            raise InvalidData(
                expected=f"one of the {len(task.domain)} names of the task",
                got="another",
                remedy="Map other values to one of them before sending",
            )
        return place
    most = task.size - 1 if task.protocol in BINNED else 1
    try:
        text = str(datum)
    except ValueError:
        # Of an integer of thousands of digits.
        text = ""
    if not (text.isascii() and text.isdigit() and len(text) < 10 and int(text) <= most):
        raise _not_a(f"whole number from 0 to {most}")
    return int(text)


@lru_cache(maxsize=4)
def _places(domain: tuple[str, ...]) -> dict[str, int]:
    """Return the place of each name: to find one takes as long whichever it is.

    The issuer sees when the card was fetched, and when tokens are asked for.
    """
    return {name: place for place, name in enumerate(domain)}


def _number(datum: Any) -> Fraction | None:
    try:
        return exact_fraction(datum, name="the datum")
    except ValueError:
        return None


def _not_a(kind: str) -> InvalidData:
    # The datum is private, on the user's own screen and in its logs too.
    return InvalidData(
        expected=f"a {kind}",
        got="something else",
        remedy="Nothing of it was sent; send what the task asks for",
    )
