"""How far a count is off where noise is sent rarely: M = s + V, shown as M - n gamma if M > tau.

For A >= n gamma a bin with s > A fails if V <= tau - s or V > n gamma + A, one with 0 < s <= A
only by the latter, an empty one if V > max(tau, n gamma + A). At most min(d, n // (A + 1)) bins
have s > A, and min(d, n) are not empty. Bins are independent.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from smoothdp.exact.logspace.bisection import least_integer
from smoothdp.exact.logspace.bounds import log_sum_upper
from smoothdp.exact.probabilities.tails import log_binomial_tail
from smoothdp.shuffle.histogram.accuracy import certainly_rare, log_of_exponent


def rare_noise_error(
    n: int, n_bins: int | None, gamma: Fraction, threshold: int, failure: Fraction
) -> float:
    """Return a whole error that any of so many bins, or one, exceeds with at most the failure."""
    limit, mean = log_of_exponent(failure), n * gamma

    def holds(bound: int) -> bool:
        above = log_binomial_tail(math.floor(mean + bound) + 1, n, gamma).upper
        # V <= tau - s, and s is at least bound + 1.
        below = log_binomial_tail(n - (threshold - bound - 1), n, 1 - gamma).upper
        if bound + 1 > threshold:
            below = -math.inf
        large = log_sum_upper(above, below)
        if n_bins is None:
            return certainly_rare([(large, 1)], limit)
        hidden = log_binomial_tail(max(threshold, math.floor(mean + bound)) + 1, n, gamma).upper
        many = max(1, min(n_bins, n // (bound + 1)))
        events = [(large, many), (above, min(n_bins, n)), (hidden, n_bins)]
        return certainly_rare([event for event in events if event[0] > -math.inf], limit)

    return float(least_integer(holds, math.ceil(mean), n + threshold))


def rare_noise_mse(n: int, gamma: Fraction, threshold: int, counts: Sequence[int] | None) -> float:
    """Return the mean of E (estimate - s)^2 over true counts, rounded up.

    Without counts a bound for all of them: where kept, the error is V - n gamma; else s <= tau.
    """
    spread = float(n * gamma * (1 - gamma))
    if counts is None:
        return (spread + float(threshold) ** 2) * (1 + 1e-9)
    total = 0.0
    for count in counts:
        lost = 0.0
        if count and count <= threshold:
            tail = log_binomial_tail(n - (threshold - count), n, 1 - gamma)
            lost = count**2 * tail.linear()[1]
        total += lost + spread
    return total / max(1, len(counts)) * (1 + 1e-9)
