"""The sampling-histogram mechanism: a sample of fixed size (Algorithm 2, Appendix F)."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Literal

from smoothdp.errors import InvalidParameter, PrivacyWarning, explain
from smoothdp.exact.balls import log_bounds
from smoothdp.exact.entropy import Entropy
from smoothdp.exact.logspace import LIBM_ERROR, LogBounds, exp_upper
from smoothdp.exact.parameters import Parameter, Real, exact_fraction, exact_int
from smoothdp.exact.samplers import multinomial, multivariate_hypergeometric
from smoothdp.mechanisms.counts import LARGEST_COUNT
from smoothdp.mechanisms.histograms import HistogramMechanism, largest
from smoothdp.mechanisms.hockey_stick import (
    hypergeometric_line_divergence,
    multinomial_line_divergence,
)
from smoothdp.mechanisms.plane import plane_divergence
from smoothdp.mechanisms.plane_laws import HypergeometricPlane, MultinomialPlane
from smoothdp.mechanisms.utility import hypergeometric_line_utility, multinomial_line_utility
from smoothdp.mechanisms.utility_enumeration import enumerated_utility
from smoothdp.sources import Source

Sampling = Literal["without_replacement", "with_replacement"]
_EXACT_BITS = 512


@dataclass(frozen=True, init=False)
class SamplingHistogram(HistogramMechanism):
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
        n = exact_int(n_records, name="n_records", minimum=2)
        if n >= LARGEST_COUNT:
            raise InvalidParameter(
                explain("n_records below 2^50", f"n_records={n}", "Measure a smaller database")
            )
        if sampling not in ("without_replacement", "with_replacement"):
            raise InvalidParameter(
                explain(
                    'sampling "without_replacement" or "with_replacement"',
                    f"sampling={sampling!r}",
                    "Use one of the two",
                )
            )
        draws = _read_draws(n, n_draws, sampling_rate)
        if sampling == "without_replacement":
            if draws > n:
                raise InvalidParameter(
                    explain(f"n_draws <= n_records={n}", f"n_draws={draws}", "Draw fewer records")
                )
            if draws == n:
                warnings.warn(
                    f"n_draws = n_records = {n}: nothing is lost, the exact histogram is "
                    "published and delta = 1. Lower the sampling rate.",
                    PrivacyWarning,
                    stacklevel=2,
                )
        object.__setattr__(self, "n_records", n)
        object.__setattr__(self, "n_draws", draws)
        object.__setattr__(self, "sampling", sampling)

    @property
    def _replacing(self) -> bool:
        return self.sampling == "with_replacement"

    def describe(self) -> str:
        """Return the mechanism and its public parameters in words."""
        how = self.sampling.replace("_", " ")
        return f"histogram of {self.n_draws} of {self.n_records} records drawn {how}"

    def log_inclusion(self) -> LogBounds:
        """Bound ln of T/n, or of 1 - (1 - 1/n)^T with replacement."""
        if not self._replacing:
            return log_bounds(Fraction(self.n_draws, self.n_records))
        missed = log_bounds(Fraction(self.n_records - 1, self.n_records))
        low, high = (-math.expm1(self.n_draws * x) for x in (missed.upper, missed.lower))
        slack = 4 * LIBM_ERROR
        return LogBounds(math.log(low) - slack * 2, min(0.0, math.log(high) + slack * 2))

    def inclusion(self) -> Fraction:
        """Return T/n exactly; with replacement 1 - (1 - 1/n)^T, or a float just above it."""
        if not self._replacing:
            return Fraction(self.n_draws, self.n_records)
        if self.n_draws * self.n_records.bit_length() <= _EXACT_BITS:
            return 1 - Fraction(self.n_records - 1, self.n_records) ** self.n_draws
        return min(Fraction(1), Fraction(exp_upper(self.log_inclusion().upper)))

    def pair_divergence(self, count_a: int, count_b: int, epsilon: Real) -> LogBounds:
        if not self._replacing and self.n_draws == self.n_records:
            return LogBounds(0.0, 0.0)
        rest = self.n_records - count_a - count_b
        if self._replacing:
            if rest == 0:
                return multinomial_line_divergence(count_a, count_b, self.n_draws, epsilon)
            return plane_divergence(MultinomialPlane(count_a, count_b, rest, self.n_draws), epsilon)
        if rest == 0:
            return hypergeometric_line_divergence(count_a, count_b, self.n_draws, epsilon)
        return plane_divergence(HypergeometricPlane(count_a, count_b, rest, self.n_draws), epsilon)

    def _log_utility(self, known: tuple[int, ...], threshold: Fraction) -> LogBounds:
        if len(known) > 2 or (not self._replacing and self.n_draws == self.n_records):
            return enumerated_utility(known, self.n_draws, self.sampling, threshold)
        utility = multinomial_line_utility if self._replacing else hypergeometric_line_utility
        first, second = known
        return largest(
            [
                utility(first, second, self.n_draws, threshold),
                utility(second, first, self.n_draws, threshold),
            ]
        )

    def _sample(self, counts: tuple[int, ...], rng: Entropy) -> tuple[int, ...]:
        draw = multinomial if self._replacing else multivariate_hypergeometric
        return draw(self.n_draws, counts, rng)


def _read_draws(n: int, n_draws: int | None, sampling_rate: Parameter | None) -> int:
    if (n_draws is None) == (sampling_rate is None):
        raise InvalidParameter(
            explain(
                "either n_draws or sampling_rate",
                "both or neither",
                "Give exactly one of them",
            )
        )
    if n_draws is not None:
        return exact_int(n_draws, name="n_draws", minimum=1)
    assert sampling_rate is not None
    rate = exact_fraction(sampling_rate, name="sampling_rate")
    if not 0 < rate <= 1:
        raise InvalidParameter(
            explain(
                "0 < sampling_rate <= 1",
                f"sampling_rate={sampling_rate}",
                "Give the share of records that are drawn",
            )
        )
    return math.ceil(rate * n)
