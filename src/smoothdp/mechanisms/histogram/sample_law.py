"""The histograms that a sample can have, and the law of the sampled histogram."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import TypeAlias

import numpy as np

from smoothdp.exact.logspace.bounds import UNIT_ROUNDOFF
from smoothdp.exact.probabilities.windows import LogWindow, log_binomial_pmf, log_poisson_pmf
from smoothdp.mechanisms.histogram.accounting.listed_histograms import histograms_of_total
from smoothdp.mechanisms.histogram.bernoulli_histogram import BernoulliHistogram
from smoothdp.mechanisms.histogram.sampling_histogram import SamplingHistogram
from smoothdp.mechanisms.sampling.draws import Draws
from smoothdp.mechanisms.sampling.finite_law import OutputLaw
from smoothdp.types import FloatArray, IntArray

SampledHistogram: TypeAlias = SamplingHistogram | BernoulliHistogram
"""A mechanism that publishes the histogram of its sample as it is."""


def sampled_histograms(
    mechanism: SampledHistogram, limits: Sequence[int], *, most: int, remedy: str
) -> IntArray:
    """Return the histograms that samples can have, one per column, in a fixed order.

    Args:
        mechanism: how records are sampled.
        limits: the greatest number of records that a category may hold in the databases
            that matter; 0 where it is always empty.
        most: refuse more histograms than this.
        remedy: what the refusal advises.

    Raises:
        OutOfReach: more than ``most`` histograms; nothing of that size is built.
    """
    if isinstance(mechanism, BernoulliHistogram):
        # One more category holds the records that are lost.
        n = mechanism.n_records
        return histograms_of_total([*limits, n], n, most=most, remedy=remedy)[:-1]
    draws = mechanism.n_draws
    highest = [draws if limit and mechanism.draws.replacing else limit for limit in limits]
    return histograms_of_total(highest, draws, most=most, remedy=remedy)


def log_sample_law(
    mechanism: SampledHistogram, histograms: IntArray, counts: Sequence[int]
) -> OutputLaw:
    """Return ln of the probability of each histogram (a column) at these counts."""
    if isinstance(mechanism, BernoulliHistogram):
        keep = mechanism.keep_probability
        return _product(histograms, [_binomial_table(count, keep) for count in counts])
    return log_draws_law(mechanism.draws, histograms, counts)


def log_draws_law(draws: Draws, histograms: IntArray, counts: Sequence[int]) -> OutputLaw:
    """Return ln of the probability of each histogram of a sample of fixed size.

    Independent binomial counts (with replacement: Poisson counts) of the same rate, given
    their sum.
    """
    rate = Fraction(draws.n_draws, draws.n_records)
    size = np.array([draws.n_draws])
    if draws.replacing:
        norm = log_poisson_pmf(size, Fraction(draws.n_draws))
        tables = [_poisson_table(rate * count) for count in counts]
    else:
        norm = log_binomial_pmf(size, draws.n_records, rate)
        tables = [_binomial_table(count, rate) for count in counts]
    law = _product(histograms, tables)
    log_norm = float(norm.log_values[0])
    error = (
        law.error + float(norm.error[0]) + UNIT_ROUNDOFF * (largest_magnitude(law.log_values) + 1)
    )
    return OutputLaw(law.log_values - log_norm, error)


Table = Callable[[IntArray], LogWindow]


def _binomial_table(count: int, rate: Fraction) -> Table:
    return lambda sampled: log_binomial_pmf(sampled, count, rate)


def _poisson_table(mean: Fraction) -> Table:
    return lambda sampled: log_poisson_pmf(sampled, mean)


def _product(histograms: IntArray, tables: Sequence[Table]) -> OutputLaw:
    """Return the sums of one log-probability per category; all are at most 0."""
    logs = np.zeros(histograms.shape[1])
    error = 0.0
    for sampled, table in zip(histograms, tables, strict=True):
        lowest = int(sampled.min())
        window = table(np.arange(lowest, int(sampled.max()) + 1))
        logs += window.log_values[sampled - lowest]
        error += float(window.error.max())
    return OutputLaw(logs, error + len(tables) * UNIT_ROUNDOFF * largest_magnitude(logs))


def largest_magnitude(logs: FloatArray) -> float:
    """Return the largest absolute value among the finite ones, 0 if there is none."""
    return float(np.abs(logs[np.isfinite(logs)]).max(initial=0.0))
