"""delta of a histogram by its two smallest counts alone, and how small counts can be."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np

from smoothdp.exact.parameters import Real
from smoothdp.exact.tails import log_binomial_tail
from smoothdp.mechanisms.histogram.histograms import HistogramMechanism


def two_smallest(mechanism: HistogramMechanism, epsilon: Real) -> Callable[[int, int], float]:
    """Return (small, second) -> an upper bound of ln delta of three or more categories.

    It bounds delta wherever the two smallest counts are at least these, because delta falls
    in either (composition notes C(i)). Where three such counts do not fit into n_records, no
    histogram has them, and the value is that of some that fit.
    """
    n = mechanism.n_records
    known: dict[tuple[int, int], float] = {}

    def value(small: int, second: int) -> float:
        small = min(small, n // 3)
        second = max(small, min(second, (n - small) // 2))
        if (small, second) not in known:
            counts = (small, second, n - small - second)
            known[small, second] = mechanism.profile_at(counts).log_delta_bounds(epsilon).upper
        return known[small, second]

    return value


def least_count(n: int, chances: Sequence[Fraction], log_target: float) -> int:
    """Return the largest c at which some count is below c with probability e^log_target."""
    low, high = 0, n
    while high - low > 1:
        middle = (low + high) // 2
        if log_any_below(n, chances, middle) <= log_target:
            low = middle
        else:
            high = middle
    return low


def log_any_below(n: int, chances: Sequence[Fraction], c: int) -> float:
    """Bound ln of the probability that some of the counts Bin(n, chance) is below c."""
    tails = [log_binomial_tail(n - c + 1, n, 1 - p).upper for p in chances]
    return log_sum_upper(tails)


def log_sum_upper(logs: Sequence[float]) -> float:
    """Return ln of the sum of a few numbers given by upper bounds of their logarithms."""
    total = float(np.logaddexp.reduce(logs))
    # Each step is rounded in units of the logarithm.
    return total + 1e-15 * (len(logs) + 4) * (1 + abs(total)) if total > -np.inf else total
