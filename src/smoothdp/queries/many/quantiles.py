"""Several quantiles of one column."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import ClassVar, cast

from smoothdp.errors import InvalidData, InvalidParameter
from smoothdp.exact.parameters.numbers import Parameter, exact_fraction, exact_text
from smoothdp.queries.quantile import Quantile
from smoothdp.queries.read_arguments import Bounds, Values, bounds_text, read_bounds, read_values
from smoothdp.sources import Source

MOST_LEVELS = 1000
"""The most quantiles of one release: each pays for its part of the noise."""


@dataclass(frozen=True, init=False)
class Quantiles:
    """Quantiles at several levels, released together under one guarantee.

    A release gives a tuple in increasing order of the levels, sorted and within the bounds.

    Source: proofs/half-shift#2.

    Args:
        levels: each above 0 and below 1, exactly; a float means its shortest decimal. They are
            sorted; none may come twice.
        bounds: (a, b), a < b; values are clamped to it. Fixed without looking at the data.

    Raises:
        InvalidParameter: no level, more than 1000, one outside (0, 1) or twice; bounds that are
            no finite interval.

    >>> quartiles = Quantiles([0.75, 0.25, "1/2"], bounds=(0, 100))
    >>> [str(level) for level in quartiles.levels], quartiles.value(range(1, 10))
    (['1/4', '1/2', '3/4'], (3.0, 5.0, 7.0))
    """

    source: ClassVar[Source] = Source("own", "proofs/half-shift#2")
    levels: tuple[Fraction, ...]
    bounds: Bounds

    def __init__(self, levels: Iterable[Parameter], *, bounds: object) -> None:
        object.__setattr__(self, "levels", _read_levels(levels))
        object.__setattr__(self, "bounds", read_bounds(bounds))

    def __len__(self) -> int:
        return len(self.levels)

    @property
    def singles(self) -> tuple[Quantile, ...]:
        """Each level as a statistic of its own."""
        return tuple(Quantile(level, bounds=self.bounds) for level in self.levels)

    def value(self, data: object) -> tuple[float, ...]:
        """Return the order statistics at the levels' ranks, clamped; as private as the data."""
        return tuple(single.value(data) for single in self.singles)

    def read(self, data: object) -> Values:
        """Return the column of numbers, checked."""
        return read_values(data)

    def size(self, data: object) -> int:
        """Return n."""
        return len(read_values(data))

    def check_size(self, n_records: int | None) -> None:
        """Raise InvalidData unless there is a record."""
        if n_records is not None and n_records < 1:
            raise InvalidData(expected="at least one value", got="none", remedy="Check the data")

    def describe(self) -> str:
        """Return the statistic in words."""
        return f"quantiles {levels_text(self.levels)}, values clamped to {bounds_text(self.bounds)}"


def levels_text(levels: Iterable[Fraction]) -> str:
    """Return levels in short, such as "0.25, 0.5 and 0.75"."""
    texts = [level_text(level) for level in levels]
    return texts[0] if len(texts) == 1 else f"{', '.join(texts[:-1])} and {texts[-1]}"


def level_text(level: Fraction) -> str:
    """Return a level as a short decimal where it is one, else as the ratio.

    >>> level_text(Fraction(9, 10)), level_text(Fraction(1, 3))
    ('0.9', '1/3')
    """
    short = f"{float(level):.6g}"
    return short if Fraction(short) == level else exact_text(level)


def _read_levels(levels: object) -> tuple[Fraction, ...]:
    if isinstance(levels, str | bytes) or not isinstance(levels, Iterable):
        raise InvalidParameter(
            expected="levels as a list of numbers between 0 and 1",
            got=f"levels={levels!r}"[:80],
            remedy="Give [0.25, 0.5, 0.75] for the quartiles",
        )
    read = [exact_fraction(cast("Parameter", level), name="level") for level in levels]
    if not 1 <= len(read) <= MOST_LEVELS:
        raise InvalidParameter(
            expected=f"between 1 and {MOST_LEVELS} levels",
            got=f"{len(read)}",
            remedy="Give [0.25, 0.5, 0.75] for the quartiles",
        )
    for level in read:
        if not 0 < level < 1:
            raise InvalidParameter(
                expected="levels above 0 and below 1",
                got=level_text(level),
                remedy="Leave it out: the ends of the data are not for many quantiles at once",
            )
    ordered = sorted(read)
    for level, after in pairwise(ordered):
        if level == after:
            raise InvalidParameter(
                expected="each level once",
                got=f"{level_text(level)} twice",
                remedy="Leave one out: twice the same quantile would cost twice",
            )
    return tuple(ordered)
