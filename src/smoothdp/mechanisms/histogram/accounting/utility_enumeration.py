"""The adversary's utility with three or more categories: every output, one by one.

The posterior needs the counts of all categories at once, so nothing short of enumerating
the outputs is exact (proofs/adversary-utility#1). Beyond `MOST_OUTPUTS` the call refuses, and names
the bound that is known instead: u <= (1 + (m - 1) / (E + 1)) delta(x), with E = t / (1 - t) and
delta at epsilon = ln E, for t >= 1/2 (proofs/adversary-utility#5).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np

from smoothdp.errors import OutOfReach
from smoothdp.exact.logspace.bounds import LIBM_ERROR, UNIT_ROUNDOFF, LogBounds
from smoothdp.exact.probabilities.windows import LogWindow, log_binomial_pmf, log_poisson_pmf
from smoothdp.mechanisms.histogram.accounting.listed_histograms import histograms_of_total
from smoothdp.text import number_up
from smoothdp.types import IntArray

MOST_OUTPUTS = 3_000_000
_REMEDY = (
    "Use two categories, or for a threshold t of at least 1/2 the bound (1 + (m - 1)(1 - t)) "
    "delta(x), at epsilon = ln(t / (1 - t))"
)

Table = Callable[[IntArray, int], LogWindow]
"""ln of the factor of one category: (sampled numbers, records in it) -> values."""


def enumerated_utility(
    known: tuple[int, ...], n_draws: int, sampling: str, threshold: Fraction
) -> LogBounds:
    """Bound ln u for samples of fixed size, from any number of categories."""
    total = sum(known) + 1
    rate = Fraction(n_draws, total)

    def table(sampled: IntArray, records: int) -> LogWindow:
        if sampling == "with_replacement":
            return log_poisson_pmf(sampled, rate * records)
        return log_binomial_pmf(sampled, records, rate)

    if sampling == "with_replacement":
        norm = log_poisson_pmf(np.array([n_draws]), Fraction(n_draws))
        most = [n_draws] * len(known)
    else:
        norm = log_binomial_pmf(np.array([n_draws]), total, rate)
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

    def table(sampled: IntArray, records: int) -> LogWindow:
        return log_binomial_pmf(sampled, records, keep_probability)

    return _utility(known, outputs, table, LogWindow(np.zeros(1), np.zeros(1)), threshold)


def _outputs_of_total(most: list[int], total: int) -> IntArray:
    """Return all vectors 0 <= h <= most with a given total, one per column."""
    _refuse_beyond(_number_of_outputs(most, total))
    return histograms_of_total(most, total, most=MOST_OUTPUTS, remedy=_REMEDY)


def _number_of_outputs(most: list[int], total: int) -> int:
    """Return how many vectors 0 <= h <= most have a total; beyond `MOST_OUTPUTS` a lower bound.

    >>> _number_of_outputs([2, 1, 10**12], 10**11)
    6
    """
    # Taking h from most changes nothing but the total.
    total = min(total, sum(most) - total)
    if total < 0:
        return 0
    *others, largest = sorted(most)
    reached = min(total, sum(others))
    # Every total of the others that can occur does: already these are many.
    certain = reached - max(0, total - largest) + 1
    if certain > MOST_OUTPUTS:
        return certain
    # Count by convolution, so that nothing large is ever built.
    n_choices = np.zeros(reached + 1)
    n_choices[0] = 1.0
    place = np.arange(reached + 1)
    for limit in others:
        sums = np.concatenate([[0.0], np.cumsum(n_choices)])
        n_choices = np.minimum(sums[1:] - sums[np.maximum(0, place - limit)], 1e18)
    return int(n_choices[max(0, total - largest) :].sum())


def _refuse_beyond(n_outputs: int) -> None:
    if n_outputs > MOST_OUTPUTS:
        raise OutOfReach(
            expected=f"at most {MOST_OUTPUTS} outputs for the utility with three or more "
            "categories",
            got=f"{number_up(Fraction(n_outputs), 3)} or more",
            remedy=_REMEDY,
        )


def _utility(
    known: tuple[int, ...],
    outputs: IntArray,
    table: Table,
    norm: LogWindow,
    threshold: Fraction,
) -> LogBounds:
    """Bound ln of max over X of E_X[max(0, max posterior - t)] / (1 - t)."""
    plain = [table(sampled, count) for count, sampled in zip(known, outputs, strict=True)]
    more = [table(sampled, count + 1) for count, sampled in zip(known, outputs, strict=True)]
    logs = np.empty((len(known), outputs.shape[1]))
    for added in range(len(known)):
        windows = [more[c] if c == added else plain[c] for c in range(len(known))]
        logs[added] = sum(window.log_values for window in windows)
    logs -= norm.log_values[0]
    # Relative error of each probability: that of its tables, of their sum, and of exp.
    error = norm.error[0] + 2 * LIBM_ERROR + np.zeros(outputs.shape[1])
    for same, one_more in zip(plain, more, strict=True):
        sizes = [
            np.where(np.isfinite(w.log_values), abs(w.log_values), 0) for w in (same, one_more)
        ]
        error += np.maximum(same.error, one_more.error) + 4 * UNIT_ROUNDOFF * np.maximum(*sizes)
    probabilities = np.exp(logs)
    total = probabilities.sum(axis=0)
    reached = total > 0
    probabilities, total, error = probabilities[:, reached], total[reached], error[reached]
    margin = probabilities.max(axis=0) / total - float(threshold)
    # The posterior is a ratio of such probabilities: its error is at most 3 error here.
    counted = margin > -3 * error
    gain = np.where(counted, np.maximum(margin, 0.0), 0.0)
    slip = np.where(counted, 3 * error + gain * error, 0.0)
    odds_lost = float(1 - threshold)
    sums = (len(total) + 8) * UNIT_ROUNDOFF
    lower = float(((probabilities @ gain) * (1 - sums) - probabilities @ slip).max()) / odds_lost
    upper = float(((probabilities @ gain) * (1 + sums) + probabilities @ slip).max()) / odds_lost
    return LogBounds(
        math.log(lower * (1 - 1e-12)) if lower > 0 else -math.inf,
        min(0.0, math.log(upper * (1 + 1e-12))) if upper > 0 else -math.inf,
    )
