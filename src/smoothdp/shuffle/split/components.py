"""How far shuffled shares are from uniform lists with the same total: a bound of chi-squared.

Each of h honest users splits a number of Z_q into m uniform shares with that sum. Beside uniform
lists of h m numbers with the same total, the shuffled shares have chi-squared at most B_h - 1,
where B_h = E q^(c - 1) and c is the number of components of a random bipartite multigraph with h
and h vertices of degree m (proofs/split-sums#2). Conditioning on the component of one vertex,

    B_n - 1 <= q sum_{0 < s < n} W_n(s) B_{n-s},   W_n(s) = (s / n) C(n, s)^2 / C(n m, s m),

which is summed in logarithms, rounded up, for small n; beyond, four terms bound it
(proofs/split-sums#3).
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

import numpy as np

from smoothdp.exact.balls.balls import log_bounds
from smoothdp.exact.logspace.bounds import log_sum_upper
from smoothdp.exact.probabilities.stirling import log_factorial_excess
from smoothdp.types import FloatArray

LEAST_SHARES = 4
"""Of fewer shares the closed bound says nothing."""

_FIRST = 400
_LARGEST = 25_600
_LOG_2 = math.log(2.0)
_ULP = 2.0**-52
# What is so far below the largest term is bounded by it, and not summed.
_NEGLIGIBLE = 50.0


def log_chi_squared(n_honest: int, n_shares: int, modulus_bits: int) -> float:
    """Return a float not below ln chi-squared of h users' shares; inf where no bound was found.

    >>> round(log_chi_squared(1000, 6, 17) / math.log(2), 3)   # chi-squared is 2^-28.876
    -28.876
    >>> log_chi_squared(1, 6, 17)
    -inf
    """
    if n_honest == 1:
        return -math.inf
    sums = component_sums(n_shares, modulus_bits)
    size = _FIRST
    while True:
        sums.extend(min(size, n_honest))
        if n_honest <= size:
            return float(sums.log_excess[n_honest])
        if n_shares >= LEAST_SHARES and sums.log_closed_bound(size + 1, size) <= 0.0:
            return sums.log_closed_bound(n_honest, size)
        if size >= _LARGEST:
            return math.inf
        size *= 2


def log_least_excess(n_honest: int, n_shares: int, modulus_bits: int) -> float:
    """Return about ln((q - 1) n^2 / C(n m, m)), not above ln(B_n - 1) for n > 2.

    It is that of the users whose shares go to one place: with I of them, c - 1 >= I or c = I = n,
    and q^(c - 1) - 1 >= (q - 1) I.
    """
    choices = math.comb(n_honest * n_shares, n_shares)
    return float(log_bounds(Fraction(((1 << modulus_bits) - 1) * n_honest**2, choices)).lower)


@lru_cache(maxsize=16)
def component_sums(n_shares: int, modulus_bits: int) -> ComponentSums:
    """Return the sums for m and q, which are kept and grow on demand."""
    return ComponentSums(n_shares, modulus_bits)


class ComponentSums:
    """Upper bounds of ln B_n and ln(B_n - 1) for n up to a size that grows on demand."""

    def __init__(self, n_shares: int, modulus_bits: int) -> None:
        self.n_shares, self.modulus_bits = n_shares, modulus_bits
        self.log_modulus = math.nextafter(modulus_bits * _LOG_2, math.inf)
        # Place 0 is not used; one user has B_1 = 1.
        self.log_excess: FloatArray = np.array([-math.inf, -math.inf])
        self.log_sum: FloatArray = np.array([0.0, 0.0])

    def extend(self, size: int) -> None:
        """Continue the recursion to n = size."""
        known = self.log_sum.size
        if size < known:
            return
        index = np.arange(size + 1)
        weights, slack = self._weights(index)
        log_index = np.log(np.maximum(index, 1).astype(np.float64))
        left = log_index - weights
        excess = np.concatenate([self.log_excess, np.empty(size + 1 - known)])
        total = np.concatenate([self.log_sum, np.empty(size + 1 - known)])
        right = np.concatenate([self.log_sum - weights[:known], np.empty(size + 1 - known)])
        for n in range(known, size + 1):
            terms = left[1:n] + right[n - 1 : 0 : -1]
            top = float(terms.max())
            large = terms[terms > top - _NEGLIGIBLE]
            rest = n * math.exp(-_NEGLIGIBLE)
            log_terms = top + math.log(float(np.exp(large - top).sum()) * (1 + n * _ULP) + rest)
            value = self.log_modulus + float(weights[n] - log_index[n]) + log_terms + slack
            # No graph of n and n vertices has more than n components.
            value = min(value, (n - 1) * self.log_modulus)
            excess[n] = value
            total[n] = log_sum_upper(0.0, value)
            right[n] = total[n] - weights[n]
        self.log_excess, self.log_sum = excess, total

    def _weights(self, index: np.ndarray) -> tuple[FloatArray, float]:
        """Return 2 ln k! - ln (k m)! but for terms linear in k, and the slack of a sum of three.

        ln W_n(s) = ln(s / n) + w_n - w_s - w_(n-s): linear terms drop out. Each w errs by a few
        units of its largest part, as do the logarithms and sums of three that follow.
        """
        m = self.n_shares
        numbers = index.astype(np.float64)
        entropies = (2 - m) * numbers * np.log(np.maximum(numbers, 1.0))
        weights = entropies + (2 * log_factorial_excess(index) - log_factorial_excess(m * index))
        largest = float(np.abs(weights).max()) + float(self.log_sum.max()) + 100.0
        # The largest ln B is not above (n - 1) ln q.
        largest += numbers.size * self.log_modulus
        return weights, 32 * _ULP * largest

    def log_closed_bound(self, n: int, size: int) -> float:
        """Return ln of the four terms for n > size; inf unless B_t <= 2 from some t on to size."""
        m = self.n_shares
        above = np.flatnonzero(self.log_sum[: size + 1] > _LOG_2 * (1 - 1e-12))
        first = int(above[-1]) + 1 if above.size else 2
        if first > size:
            return math.inf
        modulus = 1 << self.modulus_bits
        closed = Fraction(modulus * (n * n + n), math.comb(n * m, m))
        closed += Fraction(2 * modulus, math.comb(n, 2) ** (m - 2))
        closed += Fraction(modulus * (n - 5), math.comb(n, 3) ** (m - 2))
        total = log_bounds(closed).upper
        if first <= 2:
            return total
        count = np.arange(1, first, dtype=np.float64)
        steps = np.log((n - count + 1) / count)
        choices = np.cumsum(steps)
        # C(n, t) is in front of a negative power: rounded down.
        choices -= 4 * _ULP * first * (float(np.abs(choices).max()) + 1)
        terms = (2 - m) * choices[1:] + self.log_sum[2:first] + self.log_modulus
        top = float(terms.max())
        if top > 0.0:
            return math.inf
        small = top + math.log(float(np.exp(terms - top).sum()))
        slack = 8 * _ULP * (m * float(choices.max()) + float(self.log_sum[2:first].max()) + first)
        return log_sum_upper(total, small + slack + 1e-12)
