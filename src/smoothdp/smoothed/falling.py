"""The expectation of a falling function of a binomial count, from above, by few evaluations.

The function is bounded by steps, each at its value where it begins. Steps are halved where
that costs most, so the evaluations gather where probability and value together are large.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from smoothdp.exact.probabilities.tails import log_binomial_tail
from smoothdp.exact.probabilities.windows import log_binomial_pmf
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
    """Counts begin..end - 1: minus ln of what the step costs, and ln of the least it holds."""

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
        # Three roundings in units of the logarithms, then those of the sum.
        log_total += _ROUNDING + 2e-15 * abs(log_total)
    return Steps(log_mass, log_values, log_beyond, log_total)
