"""Counts of records per category, as a user hands them over."""

from __future__ import annotations

from collections.abc import Iterable
from numbers import Integral, Real

from smoothdp.errors import InvalidData, InvalidParameter
from smoothdp.exact.parameters.numbers import exact_int

LARGEST_COUNT = 1 << 50
"""Beyond about 1e15 records, counts would no longer be exact as floats."""


def read_n_records(n_records: object) -> int:
    """Return the number of records, from 2 to 2^50 - 1, or raise InvalidParameter."""
    n = exact_int(n_records, name="n_records", minimum=2)
    if n >= LARGEST_COUNT:
        raise InvalidParameter(
            expected="n_records below 2^50",
            got=f"n_records={n}",
            remedy="Measure a smaller database",
        )
    return n


def read_counts(counts: Iterable[object], *, total: int, name: str = "counts") -> tuple[int, ...]:
    """Return counts as integers, or raise InvalidData.

    ``counts`` has one entry per category of the universe, empty categories included; they
    are whole numbers >= 0 that add up to ``total``.
    """
    if isinstance(counts, str | bytes):
        raise InvalidData(
            expected=f"{name} as a sequence of numbers",
            got="a text",
            remedy="Give a list with one number per category",
        )
    try:
        entries = list(counts)
    except TypeError:
        raise InvalidData(
            expected=f"{name} as a sequence",
            got=type(counts).__name__,
            remedy="Give one count per category",
        ) from None
    values = tuple(_read_count(entry, name) for entry in entries)
    if len(values) < 2:
        raise InvalidData(
            expected=f"{name} of at least two categories (the whole universe, empty ones included)",
            got=f"{len(values)}",
            remedy="Add the categories that nobody is in as zeros",
        )
    if sum(values) != total:
        raise InvalidData(
            expected=f"{name} that add up to {total}",
            got="another sum",
            remedy="Correct the counts, or set n_records to their sum",
        )
    return values


def _read_count(entry: object, name: str) -> int:
    if (isinstance(entry, Integral) and not isinstance(entry, bool)) or (
        isinstance(entry, Real) and not isinstance(entry, bool) and float(entry).is_integer()
    ):
        value = int(float(entry))
    else:
        raise InvalidData(
            expected=f"{name} as whole numbers",
            got="something else",
            remedy="Give the number of records in each category",
        )
    if value < 0:
        raise InvalidData(
            expected=f"{name} of at least 0",
            got="a negative one",
            remedy="Give the number of records in each category, 0 where there is none",
        )
    return value
