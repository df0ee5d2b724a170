"""The sampling-histogram mechanism: a sample of fixed size (Algorithm 2, Appendix F)."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from smoothdp.exact.logspace.bounds import LogBounds
from smoothdp.exact.logspace.log_sums import largest
from smoothdp.exact.parameters.numbers import Parameter, Real
from smoothdp.exact.random.entropy import Entropy
from smoothdp.mechanisms.histogram.accounting.hockey_stick import (
    hypergeometric_line_divergence,
    multinomial_line_divergence,
)
from smoothdp.mechanisms.histogram.accounting.plane import plane_divergence
from smoothdp.mechanisms.histogram.accounting.plane_laws import (
    HypergeometricPlane,
    MultinomialPlane,
    PlaneLaw,
)
from smoothdp.mechanisms.histogram.accounting.utility import (
    hypergeometric_line_utility,
    multinomial_line_utility,
)
from smoothdp.mechanisms.histogram.accounting.utility_enumeration import enumerated_utility
from smoothdp.mechanisms.histogram.histogram_mechanism import HistogramMechanism, finite_ratio
from smoothdp.mechanisms.histogram.walk.divergence import (
    is_resolved,
    walked_hypergeometric,
    walked_multinomial,
)
from smoothdp.mechanisms.sampling.draws import DrawnRecords, Sampling, read_draws
from smoothdp.sources import Source

_SMALL = 100_000
"""With more records and draws, a tie that the walk cannot resolve is left as it is."""


@dataclass(frozen=True, init=False)
class SamplingHistogram(DrawnRecords, HistogramMechanism):
    """Draw n_draws of n_records records at random and publish their histogram.

    Nothing is added: the randomness is in which records are drawn.

    Source: Liu, Wang, Xia, Smoothed Differential Privacy, Algorithm 2 and Appendix F.

    Args:
        n_records: n, the number of records, public; 2 <= n < 2^50.
        n_draws: T, the number of records drawn; 1 <= T <= n without replacement.
        sampling_rate: instead of n_draws: T = ceil(rate * n), in exact arithmetic.
        sampling: "without_replacement" (default) or "with_replacement".

    Raises:
        InvalidParameter: a parameter outside these domains.

    Warns:
        PrivacyWarning: T = n without replacement: nothing is lost, so delta = 1.

    >>> m = SamplingHistogram(155_507_476, sampling_rate="0.998")
    >>> m.n_draws
    155196462
    >>> m.delta([81_283_501, 74_223_975], epsilon="ln(51/49)") < 1.2e-32
    True
    >>> m.worst_case_delta(epsilon=1) > 0.998
    True

    Three categories or fifty, at the same size: a walk along the boundary
    (proofs/boundary-walk), in constant memory.

    >>> three = SamplingHistogram(157_307_476, sampling_rate="0.5")
    >>> low, high = three.delta_bounds([81_283_501, 74_223_975, 1_800_000], epsilon="0.01")
    >>> 2.72e-44 < low <= high < low * (1 + 1e-9)
    True
    """

    source: ClassVar[Source] = Source("liu-wang-xia", "Algorithm 2, Appendix F")
    n_records: int
    n_draws: int
    sampling: Sampling

    def __init__(
        self,
        n_records: int,
        *,
        n_draws: int | None = None,
        sampling_rate: Parameter | None = None,
        sampling: Sampling = "without_replacement",
    ) -> None:
        draws = read_draws(
            n_records, n_draws=n_draws, sampling_rate=sampling_rate, sampling=sampling
        )
        self._set_draws(draws)

    def describe(self) -> str:
        """Return the mechanism and its public parameters in words."""
        return f"histogram of {self.draws.describe()}"

    def pair_divergence(self, count_a: int, count_b: int, epsilon: Real) -> LogBounds:
        if not self.draws.replacing and self.n_draws == self.n_records:
            return LogBounds(0.0, 0.0)
        others = self.n_records - count_a - count_b
        if self.draws.replacing:
            if others == 0:
                return multinomial_line_divergence(count_a, count_b, self.n_draws, epsilon)
            walked = walked_multinomial(count_a, count_b, others, self.n_draws, epsilon)
            plane: PlaneLaw = MultinomialPlane(count_a, count_b, others, self.n_draws)
        else:
            epsilon = finite_ratio(epsilon)
            if others == 0:
                return hypergeometric_line_divergence(count_a, count_b, self.n_draws, epsilon)
            walked = walked_hypergeometric(count_a, count_b, others, self.n_draws, epsilon)
            plane = HypergeometricPlane(count_a, count_b, others, self.n_draws)
        if is_resolved(walked) or self.n_records + self.n_draws > _SMALL:
            return walked
        return walked.met(plane_divergence(plane, epsilon))

    def _log_utility(self, known: tuple[int, ...], threshold: Fraction) -> LogBounds:
        if len(known) > 2 or (not self.draws.replacing and self.n_draws == self.n_records):
            return enumerated_utility(known, self.n_draws, self.sampling, threshold)
        utility = multinomial_line_utility if self.draws.replacing else hypergeometric_line_utility
        first, second = known
        return largest(
            [
                utility(first, second, self.n_draws, threshold),
                utility(second, first, self.n_draws, threshold),
            ]
        )

    def _output(self, counts: tuple[int, ...], rng: Entropy) -> tuple[int, ...]:
        return self._sample(counts, rng)
