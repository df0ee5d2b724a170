"""How far an estimated count can be off, exactly: theorems that sharpen 3.1(ii) and 3.2(ii-iii).

W of n noise bits are missing, W ~ Bin(n, gamma). A bin with s true records is reported as
s - W + n gamma if s > W, and as 0 otherwise. For A >= n gamma, the error exceeds A only if
W > A and s > A: if s > W it is W - n gamma upwards of A only if W > A, and else it is s <= W.
So the largest probability of an error above A is P(W > A), met at s = A + 1; and at most
K = min(d, n // (A + 1)) bins can fail at once, independently: 1 - (1 - P(W > A))^K.
Below n gamma neither holds: there W - n gamma may also lie below -A.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from smoothdp.exact.balls.balls import log_bounds
from smoothdp.exact.logspace.bisection import least_integer
from smoothdp.exact.logspace.bounds import LIBM_ERROR, exp_upper
from smoothdp.exact.probabilities.tails import log_binomial_tail
from smoothdp.exact.probabilities.windows import log_binomial_pmf

_SPREADS = 14.0
_RELATIVE = 1e-9


def worst_case_error(n: int, gamma: Fraction, failure: Fraction, *, n_bins: int = 1) -> int:
    """Return the least A >= n gamma for which no counts exceed the failure probability.

    With n_bins > 1 for the largest error over all bins at once.
    """
    limit = log_of_exponent(failure)

    def holds(bound: int) -> bool:
        tail = log_binomial_tail(bound + 1, n, gamma).upper
        bins = 1 if n_bins == 1 else max(1, min(n_bins, n // (bound + 1)))
        return certainly_rare([(tail, bins)], limit)

    return least_integer(holds, math.ceil(n * gamma), n)


def log_of_exponent(failure: Fraction) -> float:
    """Return a float not above ln(-ln(1 - failure)); at least ln failure."""
    if failure < Fraction(1, 10**9):
        return log_bounds(failure).lower
    exponent = -log_bounds(1 - failure).upper
    return math.log(exponent) - LIBM_ERROR * (abs(math.log(exponent)) + 2)


def certainly_rare(events: list[tuple[float, int]], limit: float) -> bool:
    """Whether 1 - product of (1 - e^log_p)^m is certainly at most the failure probability.

    ``events`` has (log_p, m) for m independent events of probability at most e^log_p; the
    limit is `log_of_exponent`.
    """
    total = 0.0
    smallest = -math.inf
    for log_p, times in events:
        if log_p >= 0.0:
            return False
        if log_p < -600.0:
            smallest = max(smallest, log_p + math.log(times) + math.log(len(events)) + 1e-9)
            continue
        exponent = -math.log1p(-exp_upper(log_p)) * (1 + 4 * LIBM_ERROR)
        total += times * exponent
    log_total = math.log(total) + 1e-14 if total > 0.0 else -math.inf
    largest, other = max(log_total, smallest), min(log_total, smallest)
    if largest == -math.inf:
        return True
    return largest + math.log1p(math.exp(other - largest)) * (1 + 1e-12) + 1e-13 <= limit


def mean_squared_error(n: int, gamma: Fraction, count: int | None) -> float:
    """Return E (estimate - s)^2 at a true count s, or the largest over s, rounded up.

    s^2 P(W >= s) + E[(n gamma - W)^2; W < s]: computed in a window of 14 standard deviations,
    with s^2 or n^2 times what lies outside added.
    """
    mean = n * gamma
    spread = math.sqrt(mean * (1 - gamma))
    lowest = max(0, math.floor(mean - _SPREADS * spread) - 40)
    highest = min(n, math.ceil(mean + _SPREADS * spread) + 40)
    k = np.arange(lowest, highest + 1)
    window = log_binomial_pmf(k, n, gamma)
    mass = np.exp(window.log_values) * (1 + _RELATIVE / 4)
    squares = (k - float(mean)) ** 2
    squares_reported = np.append(0.0, np.cumsum(mass * squares))
    mass_hidden = np.append(np.cumsum(mass[::-1])[::-1], 0.0)
    outside = exp_upper(log_binomial_tail(highest + 1, n, gamma).upper) if highest < n else 0.0
    if lowest > 0:
        outside += exp_upper(log_binomial_tail(n - lowest + 1, n, 1 - gamma).upper)
    # For s = first + i: W < s are the first i entries of the window.
    s = np.arange(lowest, highest + 2, dtype=np.float64)
    errors = s * s * np.minimum(1.0, mass_hidden + outside) + squares_reported
    slack = outside * float(n) ** 2
    if count is None:
        # Below the window the error is at most s^2, beyond it the variance of W.
        value = float(errors[: highest + 1 - lowest + (highest < n)].max())
    elif count <= lowest:
        value = float(count) ** 2
    else:
        value = float(errors[min(count, highest + 1) - lowest])
    return (value + slack) * (1 + _RELATIVE)
