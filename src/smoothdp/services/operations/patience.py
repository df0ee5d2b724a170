"""How long a request, an answer or a body may take: who is slower is as good as silent."""

from __future__ import annotations

_LEAST_SPEED = 1 << 16
_SECONDS = 60.0


def whole_seconds(most: int) -> float:
    """Return how long a request may take that is at most so many bytes, both ways.

    A minute, and 64 kB a second.

    >>> whole_seconds(0), whole_seconds(1 << 22)
    (60.0, 124.0)
    """
    return _SECONDS + seconds_of(most)


def seconds_of(size: int) -> float:
    """Return how long so many bytes may take on a slow line.

    >>> seconds_of(1 << 20)
    16.0
    """
    return size / _LEAST_SPEED
