"""Bisection of monotone claims, over floats and whole numbers, that returns the safe side."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable


def smallest_true(
    holds: Callable[[float], bool], *, low: float = 0.0, high: float = 1e300
) -> float:
    """Return a float at which ``holds`` is true, next to one where it is false.

    ``holds`` is monotone on [low, high]: false, then true. The result is the smallest
    float where it was seen true; ``low`` itself if it holds there; inf if it never does.

    >>> smallest_true(lambda x: x * x >= 2.0)
    1.4142135623730951
    """
    if holds(low):
        return low
    top = max(low, 1.0)
    while not holds(top):
        if top >= high:
            return math.inf
        top = min(high, top * 8.0)
    below, above = _rank(low), _rank(top)
    while above - below > 1:
        middle = (below + above) // 2
        if holds(_float(middle)):
            above = middle
        else:
            below = middle
    return _float(above)


def narrowed(
    holds: Callable[[float], bool], low: float, high: float, *, relative: float
) -> tuple[float, float]:
    """Return a bracket around where a monotone claim turns true, narrow relative to its end.

    The claim is taken to hold at ``high`` and is never asked there; for claims too slow for
    `smallest_true`, which goes on to the last bit.

    >>> low, high = narrowed(lambda x: x * x >= 2.0, 1.0, 2.0, relative=1e-3)
    >>> low**2 < 2 <= high**2
    True
    """
    while high - low > relative * high:
        middle = (low + high) / 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return low, high


def least_integer(holds: Callable[[int], bool], low: int, high: int) -> int:
    """Return the least whole number in [low, high] at which a monotone claim holds.

    The claim is taken to hold at ``high`` and is never asked there.

    >>> least_integer(lambda n: n * n >= 50, 0, 100)
    8
    """
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle + 1, high)
    return low


def _rank(value: float) -> int:
    """Return the rank of a nonnegative float among all of them."""
    return int(struct.unpack("<q", struct.pack("<d", value))[0])


def _float(rank: int) -> float:
    return float(struct.unpack("<d", struct.pack("<q", rank))[0])
