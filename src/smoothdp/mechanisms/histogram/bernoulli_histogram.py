"""The histogram of records that are each kept, or lost, independently."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from smoothdp.errors import PrivacyWarning
from smoothdp.exact.balls.balls import log_bounds
from smoothdp.exact.logspace.bounds import LOG_ONE, LogBounds, log_sum_upper
from smoothdp.exact.logspace.log_sums import largest, log_total
from smoothdp.exact.parameters.numbers import Parameter, Real, positive_probability
from smoothdp.exact.random.entropy import Entropy
from smoothdp.exact.random.samplers import binomial
from smoothdp.mechanisms.histogram.accounting.independent import independent_divergence
from smoothdp.mechanisms.histogram.accounting.line import BinomialLine
from smoothdp.mechanisms.histogram.accounting.rows import window
from smoothdp.mechanisms.histogram.accounting.utility import hypergeometric_line_utility
from smoothdp.mechanisms.histogram.accounting.utility_enumeration import (
    enumerated_utility_independent,
)
from smoothdp.mechanisms.histogram.histogram_mechanism import HistogramMechanism, finite_ratio
from smoothdp.mechanisms.histogram.walk.divergence import is_resolved, walked_independent
from smoothdp.mechanisms.sampling.counts import read_n_records
from smoothdp.sources import Source

_SMALL = 100_000
"""With more records, a tie that the walk cannot resolve is left as it is."""
_LEAST_SHARE = Fraction(1, 10**30)


@dataclass(frozen=True, init=False)
class BernoulliHistogram(HistogramMechanism):
    """Keep each record with a given probability, independently, and publish the histogram.

    The number of kept records is random and is published with the histogram. Given that
    number, the law is that of `SamplingHistogram` without replacement.

    Source: the model of lost ballots of Liu, Wang, Xia (Example 1), with independent
    losses; the likelihood ratio is the same (proofs/two-smallest#2).

    Args:
        n_records: n, the number of records, public; 2 <= n < 2^50.
        keep_probability: probability that a record is kept, in (0, 1].

    Raises:
        InvalidParameter: a parameter outside these domains.

    Warns:
        PrivacyWarning: keep_probability = 1: nothing is lost, so delta = 1.

    >>> m = BernoulliHistogram(1000, keep_probability="0.9")
    >>> m.worst_case_delta(epsilon=1)
    0.9
    >>> m.delta([400, 600], epsilon=1) < 0.01
    True
    """

    source: ClassVar[Source] = Source("liu-wang-xia", "Example 1, independent losses")
    n_records: int
    keep_probability: Fraction

    def __init__(self, n_records: int, *, keep_probability: Parameter) -> None:
        n = read_n_records(n_records)
        remedy = "Give the probability that a record is kept"
        probability = positive_probability(keep_probability, name="keep_probability", remedy=remedy)
        if probability == 1:
            warnings.warn(
                "keep_probability = 1: nothing is lost, the exact histogram is published and "
                "delta = 1. Lower keep_probability.",
                PrivacyWarning,
                stacklevel=2,
            )
        object.__setattr__(self, "n_records", n)
        object.__setattr__(self, "keep_probability", probability)

    def describe(self) -> str:
        """Return the mechanism and its public parameters in words."""
        return (
            f"histogram of {self.n_records} records, each kept independently with "
            f"probability {self.keep_probability}"
        )

    def log_inclusion(self) -> LogBounds:
        """Bound ln of keep_probability."""
        return log_bounds(self.keep_probability)

    def inclusion(self) -> Fraction:
        """Return keep_probability."""
        return self.keep_probability

    def pair_divergence(self, count_a: int, count_b: int, epsilon: Real) -> LogBounds:
        if self.keep_probability == 1:
            return LOG_ONE
        if not _LEAST_SHARE <= self.keep_probability <= 1 - _LEAST_SHARE:
            # The windows below have no floats at such shares; no delta is above the chance to be
            # kept.
            return LogBounds(-math.inf, self.log_inclusion().upper)
        epsilon = finite_ratio(epsilon)
        walked = walked_independent(count_a, count_b, self.keep_probability, epsilon)
        if is_resolved(walked) or self.n_records > _SMALL:
            return walked
        return walked.met(independent_divergence(count_a, count_b, self.keep_probability, epsilon))

    def _log_utility(self, known: tuple[int, ...], threshold: Fraction) -> LogBounds:
        if len(known) > 2 or self.keep_probability == 1:
            return enumerated_utility_independent(known, self.keep_probability, threshold)
        first, second = known
        return largest(
            [
                self._mean_utility(first, second, threshold),
                self._mean_utility(second, first, threshold),
            ]
        )

    def _mean_utility(self, present: int, other: int, threshold: Fraction) -> LogBounds:
        """Average the utility given the number kept, which does not depend on the probability."""
        n = self.n_records
        kept = self.keep_probability.numerator
        size = BinomialLine(kept, self.keep_probability.denominator - kept, n)

        def weighted_utility(draws: int) -> LogBounds:
            if draws == 0:
                return LogBounds(-math.inf, -math.inf)
            if draws == n:
                return size.log_probability(n)
            utility = hypergeometric_line_utility(present, other, draws, threshold)
            return size.log_probability(draws).shifted(utility)

        centre = n * kept // self.keep_probability.denominator
        peak = max(weighted_utility(max(1, min(n, centre + step))).upper for step in (-1, 0, 1))
        span = window(size, peak)
        terms = [weighted_utility(draws) for draws in range(span.lowest, span.highest + 1)]
        lower = log_total([term.lower for term in terms])
        upper = log_total([term.upper for term in terms])
        if lower > -math.inf:
            lower -= 1e-13 + 1e-15 * abs(lower)
        if upper > -math.inf:
            upper += 1e-13 + 1e-15 * abs(upper)
        return LogBounds(lower, min(0.0, log_sum_upper(upper, span.log_dropped)))

    def _output(self, counts: tuple[int, ...], rng: Entropy) -> tuple[int, ...]:
        return tuple(binomial(count, self.keep_probability, rng) for count in counts)
