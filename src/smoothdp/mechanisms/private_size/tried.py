"""A mechanism for any guess of n: where no noise is found for one, that of a guess tried before.

A released count chooses smoothing and window, and a calibration may come to its limit of work at
any smoothing. So a few guesses are tried before the data are read. If none works, that is said
then; afterwards nothing is refused. All of it depends on public and released numbers alone.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import TypeVar

from smoothdp.errors import InvalidParameter, OutOfReach
from smoothdp.mechanisms.release.request import MOST_RECORDS

Made = TypeVar("Made")

TRIED_SIZES = (Fraction(1), Fraction(1000), Fraction(MOST_RECORDS))
"""Guesses of n that are tried: the rules' smoothing is between those of the first and the last."""


def mechanism_near(make: Callable[[Fraction], Made], n_guess: Fraction) -> Made:
    """Return what ``make`` makes of a guess, else of a smaller one that was tried, else of any.

    Raises:
        InvalidParameter, OutOfReach: none of them works.

    >>> def make(size):
    ...     if size > 1000:
    ...         raise OutOfReach(expected="less work", got="more", remedy="Take less")
    ...     return size
    >>> mechanism_near(make, Fraction(5000))
    Fraction(1000, 1)
    """
    smaller = sorted((size for size in TRIED_SIZES if size < n_guess), reverse=True)
    larger = [size for size in TRIED_SIZES if size > n_guess]
    first: InvalidParameter | OutOfReach | None = None
    for size in (n_guess, *smaller, *larger):
        try:
            return make(size)
        except (InvalidParameter, OutOfReach) as error:
            first = first or error
    assert first is not None
    raise first


def check_some_size(make: Callable[[Fraction], object]) -> None:
    """Raise what ``make`` raises unless it works for one of `TRIED_SIZES`."""
    mechanism_near(make, TRIED_SIZES[0])
