"""Which marks of a batch come more than once: equal slots have equal marks."""

from __future__ import annotations

import numpy as np


def repeated_marks(marks: bytes) -> list[int]:
    """Return the places of the marks that come more than once, all of each, ascending.

    Args:
        marks: of 16 bytes, joined in any order.

    >>> repeated_marks(b"a" * 16 + b"b" * 16 + b"a" * 16)
    [0, 2]
    """
    pairs = np.frombuffer(marks, dtype=">u8").reshape(-1, 2)
    order = np.lexsort((pairs[:, 1], pairs[:, 0]))
    ordered = pairs[order]
    same = (ordered[1:] == ordered[:-1]).all(axis=1)
    twice = np.zeros(len(pairs), dtype=bool)
    twice[1:] |= same
    twice[:-1] |= same
    return [int(place) for place in np.sort(order[twice])]
