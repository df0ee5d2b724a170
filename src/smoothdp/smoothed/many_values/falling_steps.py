"""The expectation of a falling function of a binomial count, from above, by few evaluations.

The function is bounded by steps, each at its value where it begins. Steps are halved where
that costs most, so the evaluations gather where probability and value together are large.
delta of a histogram falls in each of its two smallest counts, which says how small they can be.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from smoothdp.exact.logspace.bisection import least_integer
from smoothdp.exact.logspace.log_sums import log_total_upper
from smoothdp.exact.parameters.numbers import Real
from smoothdp.exact.probabilities.tails import log_binomial_tail
from smoothdp.exact.probabilities.windows import log_binomial_pmf
from smoothdp.mechanisms.histogram.histogram_mechanism import HistogramMechanism
from smoothdp.types import FloatArray

_TIGHT = math.log(0.03)
_ROUNDING = 1e-9


class Steps(NamedTuple):
    """A step function above a falling function of a binomial count H, in logarithms.

    ``log_mass`` is ln P(H = h) for h = 0..top, ``log_values`` the steps there;
    ``log_beyond`` bounds ln E[f(H); H > top], and ``log_total`` ln E f(H).
    """

    log_mass: FloatArray
    log_values: FloatArray
    log_beyond: float
    log_total: float


class _Step(NamedTuple):
    """Counts begin..end - 1, with minus ln of the cost of the step and ln of its least value."""

    saving: float
    begin: int
    end: int
    log_low: float


def falling_steps(
    log_value: Callable[[int], float], n: int, chance: Fraction, *, evaluations: int = 60
) -> Steps:
    """Bound E f(H) for H ~ Bin(n, chance) and a falling f, given ln f.

    Needs memory for sqrt(n) wide windows around the mean and all counts below it.
    """
    mean = float(n * chance)
    top = min(n, math.ceil(mean + 12 * math.sqrt(mean) + 80))
    window = log_binomial_pmf(np.arange(top + 1), n, chance)
    log_mass = window.log_values + window.error
    values = {0: log_value(0), top: log_value(top)}
    log_beyond = log_binomial_tail(top + 1, n, chance).upper + values[top]

    def step(begin: int, end: int) -> _Step:
        mass = float(np.logaddexp.reduce(log_mass[begin:end]))
        high, low = mass + values[begin], mass + values[end]
        if end - begin == 1 or not low < high:
            return _Step(math.inf, begin, end, low)
        return _Step(-(high + math.log1p(-math.exp(low - high))), begin, end, low)

    steps = [step(0, top)] if top else []
    for _ in range(evaluations):
        if not steps or steps[0].saving == math.inf:
            break
        if -steps[0].saving + math.log(len(steps)) < max(s.log_low for s in steps) + _TIGHT:
            break
        worst = heapq.heappop(steps)
        middle = (worst.begin + worst.end) // 2
        values[middle] = min(log_value(middle), values[worst.begin])
        heapq.heappush(steps, step(worst.begin, middle))
        heapq.heappush(steps, step(middle, worst.end))
    starts = np.array(sorted(values))
    falling = np.minimum.accumulate(np.array([values[s] for s in starts.tolist()]))
    log_values = falling[np.searchsorted(starts, np.arange(top + 1), side="right") - 1]
    terms = log_mass + log_values
    main = float(terms.max())
    # Summed as floats around the largest: in logarithms, small terms would be lost one by one.
    inside = main + math.log(float(np.exp(terms - main).sum())) if main > -math.inf else main
    log_total = float(np.logaddexp(inside, log_beyond))
    if log_total > -math.inf:
        # Three roundings in units of the logarithms, then the roundings of the sum.
        log_total += _ROUNDING + 2e-15 * abs(log_total)
    return Steps(log_mass, log_values, log_beyond, log_total)


# ---- what falls: delta in the two smallest counts ---------------------------------------


def two_smallest(mechanism: HistogramMechanism, epsilon: Real) -> Callable[[int, int], float]:
    """Return (small, second) -> an upper bound of ln delta of three or more categories.

    It bounds delta wherever the two smallest counts are at least these, because delta falls
    in either (proofs/two-smallest#5). Where three such counts do not fit into n_records, no
    histogram has them, and the value is that of some that fit (proofs/smoothed-delta#8).
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
