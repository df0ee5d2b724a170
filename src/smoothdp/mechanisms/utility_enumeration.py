"""The adversary's utility with three or more categories: every output, one by one.

The posterior needs the counts of all categories at once, so nothing short of enumerating
the outputs is exact. Beyond `MOST_OUTPUTS` the call refuses, and says what is known
instead: u <= (1 + (m - 1) / (E + 1)) delta(x), with E = t / (1 - t).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from smoothdp.errors import OutOfReach, explain
from smoothdp.exact.binomial import log_binomial_pmf
from smoothdp.exact.logspace import LIBM_ERROR, LogBounds
from smoothdp.exact.poisson import log_poisson_pmf

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
MOST_OUTPUTS = 3_000_000

Table = Callable[[IntArray, int], FloatArray]
"""ln of the factor of one category: (sampled numbers, records in it) -> values."""


def enumerated_utility(
    known: tuple[int, ...], n_draws: int, sampling: str, threshold: Fraction
) -> LogBounds:
    """Bound ln u for samples of fixed size, from any number of categories."""
    total = sum(known) + 1
    rate = Fraction(n_draws, total)

    def table(sampled: IntArray, records: int) -> FloatArray:
        if sampling == "with_replacement":
            return log_poisson_pmf(sampled, rate * records).log_values
        return log_binomial_pmf(sampled, records, rate).log_values

    if sampling == "with_replacement":
        norm = float(log_poisson_pmf(np.array([n_draws]), Fraction(n_draws)).log_values[0])
        most = [n_draws] * len(known)
    else:
        norm = float(log_binomial_pmf(np.array([n_draws]), total, rate).log_values[0])
        most = [count + 1 for count in known]
    outputs = _outputs_of_total(most, n_draws)
    return _utility(known, outputs, table, norm, threshold)


def enumerated_utility_independent(
    known: tuple[int, ...], keep_probability: Fraction, threshold: Fraction
) -> LogBounds:
    """Bound ln u when each record is kept independently, from any number of categories."""
    sizes = [count + 2 for count in known]
    _refuse_beyond(math.prod(sizes))
    grids = np.meshgrid(*[np.arange(size) for size in sizes], indexing="ij")
    outputs = np.stack([grid.ravel() for grid in grids])

    def table(sampled: IntArray, records: int) -> FloatArray:
        return log_binomial_pmf(sampled, records, keep_probability).log_values

    return _utility(known, outputs, table, 0.0, threshold)


def _outputs_of_total(most: list[int], total: int) -> IntArray:
    """Return all vectors 0 <= h <= most with a given total, one per column."""
    # Count first, by convolution, so that nothing large is ever built.
    ways = [1] + [0] * total
    for limit in most:
        sums = np.cumsum([0, *ways], dtype=np.float64)
        ways = [
            int(min(sums[s + 1] - sums[max(0, s - limit)], 1e18)) for s in range(total + 1)
        ]
    _refuse_beyond(ways[total])
    columns = np.zeros((0, 1), dtype=np.int64)
    left = np.array([total])
    for position, limit in enumerate(most):
        room = sum(most[position + 1 :])
        low, high = np.maximum(0, left - room), np.minimum(limit, left)
        size = high - low + 1
        index = np.repeat(np.arange(left.size), size)
        offset = np.arange(index.size) - np.repeat(np.cumsum(size) - size, size)
        chosen = low[index] + offset
        columns = np.vstack([columns[:, index], chosen])
        left = left[index] - chosen
    return columns


def _refuse_beyond(n_outputs: int) -> None:
    if n_outputs > MOST_OUTPUTS:
        raise OutOfReach(
            explain(
                f"at most {MOST_OUTPUTS} outputs for the utility with three or more categories",
                f"about {n_outputs:.3g}",
                "Use two categories, or the bound (1 + (m - 1)(1 - threshold)) delta(x)",
            )
        )


def _utility(
    known: tuple[int, ...],
    outputs: IntArray,
    table: Table,
    norm: float,
    threshold: Fraction,
) -> LogBounds:
    """Bound ln of max over X of E_X[max(0, max posterior - t)] / (1 - t)."""
    with np.errstate(invalid="ignore"):
        with_one_more = []
        plain = []
        for count, sampled in zip(known, outputs, strict=True):
            plain.append(table(sampled, count))
            with_one_more.append(table(sampled, count + 1))
        logs = np.stack(
            [
                sum(
                    (more if place == added else same)
                    for place, (same, more) in enumerate(zip(plain, with_one_more, strict=True))
                )
                for added in range(len(known))
            ]
        )
    probabilities = np.exp(logs - norm)
    total = probabilities.sum(axis=0)
    reached = total > 0
    probabilities, total = probabilities[:, reached], total[reached]
    margin = np.maximum(0.0, probabilities.max(axis=0) / total - float(threshold))
    means = probabilities @ margin / float(1 - threshold)
    best = float(means.max())
    # Logs of tables are right to about 4e-15 relative + 2e-14; the margin loses at most
    # that much of each probability, absolutely.
    finite = np.abs(logs[:, reached][np.isfinite(logs[:, reached])])
    slack = 4 * LIBM_ERROR * (float(finite.max(initial=1.0)) + abs(norm) + 32)
    absolute = slack * (2.0 / float(1 - threshold))
    lower = best - absolute
    return LogBounds(
        math.log(lower) - 1e-15 if lower > 0 else -math.inf,
        min(0.0, math.log(best + absolute) + 1e-15),
    )
