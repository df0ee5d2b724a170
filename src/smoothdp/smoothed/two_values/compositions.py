"""Two values: the expectation for every way to share n records between two distributions.

F_j = E delta(Bin(j, p) + Bin(n - j, q)) for j = 0..n, in O(n^2) positive operations
(proofs/smoothed-delta#2), as two products of matrices: j = c + b, c a multiple of a block length s,

    F_{c+b} = sum over h of P(Bin(c, p) + Bin(n - s - c, q) = h) G_b(h),
    G_b(h)  = sum over i of P(Bin(b, p) + Bin(s - b, q) = i) delta(h + i).
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from smoothdp.exact.logspace.bounds import LIBM_ERROR, UNIT_ROUNDOFF
from smoothdp.exact.probabilities.stirling import DEVIANCE_ERROR, EXCESS_ERROR
from smoothdp.exact.probabilities.windows import log_binomial_pmf
from smoothdp.types import FloatArray

_DROPPED = 1e-30
# Of a binomial probability that is not below e^-100, with exp.
_LOG_ERROR = 4 * EXCESS_ERROR + 100 * (DEVIANCE_ERROR + 2.0**-51) + LIBM_ERROR


def all_compositions(
    table: FloatArray, chances: tuple[Fraction, Fraction]
) -> tuple[FloatArray, float, float]:
    """Return F_j for j = 0..n, its relative error, and an absolute allowance.

    Args:
        table: delta(0..n) as floats, in units of the caller's choice, at most 1.
        chances: p of the first distribution (j records), q of the second.

    The truth lies between F (1 - error) and F (1 + error) + allowance.
    """
    n = table.size - 1
    s = max(1, math.isqrt(n))
    kernel = _kernel(s, chances)
    starts = [*range(0, n - s + 1, s)]
    if starts[-1] != n - s:
        starts.append(n - s)
    result = np.zeros(n + 1)
    longest = 0
    windows = [_coarse(c, n - s - c, chances) for c in starts]
    first = min(low for low, _ in windows)
    last = max(low + weights.size for low, weights in windows)
    shifted = np.lib.stride_tricks.sliding_window_view(table, s + 1)[first:last]
    smooth = np.ascontiguousarray(shifted) @ kernel
    for c, (low, weights) in zip(starts, windows, strict=True):
        result[c : c + s + 1] = weights @ smooth[low - first : low - first + weights.size]
        longest = max(longest, weights.size)
    # The kernel: s steps of two products and a sum; then two sums; binomials of exp and ln.
    units = 4.0 * s + longest + (s + 1) + 3.0 * math.sqrt(longest) + 64
    return result, 1.01 * (units * UNIT_ROUNDOFF + 2 * _LOG_ERROR), 2 * _DROPPED


def one_composition(
    table: FloatArray, j: int, chances: tuple[Fraction, Fraction]
) -> tuple[float, float]:
    """Return F_j and its relative error; the terms left out only make F_j smaller."""
    low, weights = _coarse(j, table.size - 1 - j, chances)
    value = float(weights @ table[low : low + weights.size])
    return value, 1.01 * ((2.0 * weights.size + 16) * UNIT_ROUNDOFF + 2 * _LOG_ERROR)


def _kernel(s: int, chances: tuple[Fraction, Fraction]) -> FloatArray:
    """Return K[i, b] = P(Bin(b, p) + Bin(s - b, q) = i), by adding one record at a time."""
    (p, not_p), (q, not_q) = (_pair(chance) for chance in chances)
    kernel = np.zeros((s + 1, s + 1))
    # Column b holds min(b, step) records of p and the others of q after each step.
    kernel[0] = 1.0
    columns = np.arange(s + 1)
    for step in range(s):
        taken = np.where(step < columns, p, q)
        missed = np.where(step < columns, not_p, not_q)
        moved = kernel[:-1] * taken
        kernel *= missed
        kernel[1:] += moved
    return kernel


def _coarse(c: int, others: int, chances: tuple[Fraction, Fraction]) -> tuple[int, FloatArray]:
    """Return the first count and the probabilities of Bin(c, p) + Bin(others, q)."""
    low_p, first = _window(c, chances[0])
    low_q, second = _window(others, chances[1])
    return low_p + low_q, np.convolve(first, second)


def _window(n: int, chance: Fraction) -> tuple[int, FloatArray]:
    """Return the counts that hold all but 1e-30 of a binomial, and their probabilities."""
    mean = float(n * chance)
    # Bernstein: beyond t sd + t^2 / 3 lies less than 2 e^(-t^2 / 2).
    t = math.sqrt(2 * math.log(4 / _DROPPED))
    reach = t * math.sqrt(mean * float(1 - chance)) + t * t / 3 + 1
    low, high = max(0, math.floor(mean - reach)), min(n, math.ceil(mean + reach))
    return low, np.exp(log_binomial_pmf(np.arange(low, high + 1), n, chance).log_values)


def _pair(chance: Fraction) -> tuple[float, float]:
    return float(chance), float(1 - chance)
