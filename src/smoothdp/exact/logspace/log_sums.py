"""Many numbers in log space at once: their sum, and the largest of several truths."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from smoothdp.exact.logspace.bounds import LogBounds
from smoothdp.types import FloatArray


def largest(bounds: Sequence[LogBounds]) -> LogBounds:
    """Return bounds of the largest of several truths.

    >>> largest([LogBounds(-3.0, -1.0), LogBounds(-2.0, -1.5)])
    LogBounds(lower=-2.0, upper=-1.0)
    """
    return LogBounds(max(b.lower for b in bounds), max(b.upper for b in bounds))


def log_total(logs: Sequence[float] | FloatArray) -> float:
    """Return ln of the sum of exponentials, right to a few units in the last place.

    Of the result or of 1, whichever is larger. inf and nan pass through.

    >>> round(log_total([-1000.0, -1000.0]) + 1000, 12)
    0.69314718056
    """
    values = np.asarray(logs, dtype=np.float64)
    top = float(values.max())
    if not math.isfinite(top):
        return top
    return top + math.log(math.fsum(np.exp(values - top).tolist()))


def log_total_upper(logs: Sequence[float]) -> float:
    """Return a float not below ln of the sum of exponentials.

    >>> log_total_upper([-1000.0, -1000.0]) + 1000 >= math.log(2)
    True
    """
    top = max(logs)
    if top == -math.inf or len(logs) == 1:
        return top
    # fsum and exp err by 1e-15 each at most; log by 4 ulp.
    total = math.log(math.fsum(math.exp(value - top) for value in logs)) + 1e-13
    return math.nextafter(top + total, math.inf)
