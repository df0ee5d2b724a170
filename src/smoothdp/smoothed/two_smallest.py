"""delta of a histogram by its two smallest counts alone, and how small counts can be."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

from smoothdp.exact.bisection import least_integer
from smoothdp.exact.log_sums import log_total_upper
from smoothdp.exact.parameters import Real
from smoothdp.exact.tails import log_binomial_tail
from smoothdp.mechanisms.histogram.histogram_mechanism import HistogramMechanism


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
    return least_integer(lambda c: not log_any_below(n, chances, c) <= log_target, 1, n) - 1


def log_any_below(n: int, chances: Sequence[Fraction], c: int) -> float:
    """Bound ln of the probability that some of the counts Bin(n, chance) is below c."""
    tails = [log_binomial_tail(n - c + 1, n, 1 - p).upper for p in chances]
    return log_total_upper(tails)
