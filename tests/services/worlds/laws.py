"""Laws as lists of numbers and their chances, added up by hand."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Law = dict[tuple[int, ...], float]


def added(first: Law, second: Law) -> Law:
    """Return the law of the sum of two independent lists of numbers."""
    law: defaultdict[tuple[int, ...], float] = defaultdict(float)
    for (one, p), (other, q) in itertools.product(first.items(), second.items()):
        law[tuple(a + b for a, b in zip(one, other, strict=True))] += p * q
    return dict(law)


def largest_stick(first: Law, second: Law, epsilon: str) -> float:
    """Return delta of two laws at an epsilon: the larger of both directions."""
    ratio = math.exp(float(Fraction(epsilon)))
    return max(
        sum(max(0.0, p.get(key, 0.0) - ratio * q.get(key, 0.0)) for key in {*p, *q})
        for p, q in ((first, second), (second, first))
    )
