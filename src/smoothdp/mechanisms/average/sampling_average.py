"""The sampling-average mechanism on a finite grid (Algorithm 3 of paper 1)."""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

import numpy as np

from smoothdp.claims.curves.profile import PrivacyProfile
from smoothdp.claims.neighbours import Neighbours
from smoothdp.claims.release import Release
from smoothdp.errors import InvalidData, PrivacyWarning
from smoothdp.exact.logspace.bounds import LIBM_ERROR, UNIT_ROUNDOFF, LogBounds
from smoothdp.exact.parameters.numbers import Parameter, Real
from smoothdp.exact.random.entropy import Entropy
from smoothdp.mechanisms.average.search import SampleSums, worst_neighbour
from smoothdp.mechanisms.average.sequences import SequenceSums
from smoothdp.mechanisms.average.subsets import SubsetSums
from smoothdp.mechanisms.average.sum_layers import check_work
from smoothdp.mechanisms.average.value_grid import ValueGrid, read_grid
from smoothdp.mechanisms.sampling.draws import DrawnRecords, Sampling, read_draws
from smoothdp.mechanisms.sampling.finite_law import FiniteLawMechanism, OutputLaw
from smoothdp.sources import Source


@dataclass(frozen=True, init=False)
class SamplingAverage(DrawnRecords, FiniteLawMechanism[float]):
    """Draw n_draws of n_records records at random and publish the average of their values.

    Nothing is added: the randomness is in which records are drawn. Values lie in a finite
    universe, such as gradients quantised to 8 bits. On a continuum it is no more private
    than ordinary DP says: delta is exactly T/n for every database and every epsilon
    (Theorem 4 of paper 1; proofs/noisy-histograms#6).

    Source: Liu, Wang, Xia, Smoothed Differential Privacy, Algorithm 3.

    Args:
        n_records: n, the number of records, public; 2 <= n < 2^50.
        n_draws: T, the number of records drawn; 1 <= T <= n without replacement.
        sampling_rate: instead of n_draws: T = ceil(rate * n), in exact arithmetic.
        universe: all values that a record may have, each once: rational numbers on a grid
            of at most 1e6 steps. 0.1 means 1/10, here and in the records.
        sampling: "without_replacement" (default) or "with_replacement".

    Raises:
        InvalidParameter: a parameter outside these domains.

    Warns:
        PrivacyWarning: T = n without replacement: the exact average is published.

    >>> m = SamplingAverage(10, n_draws=5, universe=range(8))
    >>> round(m.delta([0, 0, 1, 2, 3, 3, 4, 5, 7, 7], epsilon="0.5"), 9)
    0.201189962
    """

    source: ClassVar[Source] = Source("liu-wang-xia", "Algorithm 3")
    n_records: int
    n_draws: int
    universe: tuple[Fraction, ...] = field(repr=False)
    sampling: Sampling

    def __init__(
        self,
        n_records: int,
        *,
        n_draws: int | None = None,
        sampling_rate: Parameter | None = None,
        universe: Iterable[Parameter] = range(256),
        sampling: Sampling = "without_replacement",
    ) -> None:
        draws = read_draws(
            n_records,
            n_draws=n_draws,
            sampling_rate=sampling_rate,
            sampling=sampling,
            exact_histogram=False,
        )
        if draws.n_draws == draws.n_records and not draws.replacing:
            warnings.warn(
                f"n_draws = n_records = {draws.n_records}: the exact average is published "
                "and delta = 1. Lower the sampling rate.",
                PrivacyWarning,
                stacklevel=2,
            )
        self._set_draws(draws)
        object.__setattr__(self, "universe", read_grid(universe).values)

    @cached_property
    def grid(self) -> ValueGrid:
        """The universe as whole steps of one grid."""
        return ValueGrid(self.universe)

    def describe(self) -> str:
        """Return the mechanism and its public parameters in words."""
        low, high = min(self.universe), max(self.universe)
        values = f"{len(self.universe)} values from {low} to {high}"
        return f"average of {self.draws.describe()}, {values}"

    # ---- measure: databases are given by their values, or by counts over the universe ----

    def at_values(self, values: Iterable[object]) -> PrivacyProfile:
        """Return the privacy profile delta_epsilon(x) at a database of these values.

        It is exact over all neighbours that replace one record by any value of the universe,
        both ways; as private as the data (see `at`, which takes counts over the universe).

        Args:
            values: n_records numbers out of the universe.

        Raises:
            InvalidData: a value outside the universe, or another number of records.
            OutOfReach: more than 2e10 additions (when delta is asked for).
        """
        return self.at(self.grid.counts(values))

    def delta(self, values: Iterable[object], *, epsilon: Parameter) -> float:
        """Return delta_epsilon(x), never below the truth (see `at_values`)."""
        return self.at_values(values).delta(epsilon)

    def delta_bounds(self, values: Iterable[object], *, epsilon: Parameter) -> tuple[float, float]:
        """Return floats (lower, upper) around delta_epsilon(x) (see `at_values`)."""
        return self.at_values(values).delta_bounds(epsilon)

    def log_delta(self, values: Iterable[object], *, epsilon: Parameter) -> float:
        """Return ln delta_epsilon(x), never below the truth (see `at_values`)."""
        return self.at_values(values).log_delta(epsilon)

    def worst_case_delta(self, *, epsilon: Parameter) -> float:
        """Return the delta of ordinary DP at epsilon: exact, rounded up.

        It is the probability that a given record is in the sample at all, for every finite
        epsilon >= 0: never more by a coupling (proofs/two-smallest#6), and attained where
        all records but one have the same value (proofs/two-smallest#7).
        """
        return super().worst_case_delta(epsilon=epsilon)

    def profile_at(self, counts: tuple[int, ...]) -> PrivacyProfile:
        return AverageProfile(self, counts)

    def check_counts(self, counts: tuple[int, ...]) -> None:
        """Raise InvalidData for counts over another number of categories."""
        if len(counts) != len(self.universe):
            raise InvalidData(
                expected=f"counts of the {len(self.universe)} values of the universe",
                got=f"{len(counts)} counts",
                remedy="Give one count per value, or the values themselves to at_values()",
            )

    def sums(self, counts: tuple[int, ...]) -> SampleSums:
        """Return the weights of the sums of the samples, at validated counts."""
        by_step = [0] * (max(self.grid.steps) + 1)
        for step, count in zip(self.grid.steps, counts, strict=True):
            by_step[step] = count
        # Every value of the universe is at least looked at.
        size = float(len(by_step)) * self.n_draws
        check_work(additions=len(self.universe) * size, numbers=size)
        sums_of_samples = SequenceSums if self.draws.replacing else SubsetSums
        return sums_of_samples(by_step, self.n_draws)

    def output_law(self, counts: tuple[int, ...]) -> OutputLaw:
        """Return the law of the average: n_draws * (its grid steps) = 0, 1, 2, ...

        >>> m = SamplingAverage(3, n_draws=2, universe=range(2))
        >>> np.exp(m.output_law((1, 2)).log_values).round(4).tolist()
        [0.0, 0.6667, 0.3333]
        """
        sums = self.sums(counts)
        with np.errstate(divide="ignore"):
            logs = np.log(sums.by_sum())
        total = sums.log_total
        values = logs - total.lower
        largest = float(np.abs(values[np.isfinite(values)]).max()) + abs(total.lower)
        error = 1.01 * sums.error + (total.upper - total.lower)
        error += 2 * (LIBM_ERROR + 2 * UNIT_ROUNDOFF) * largest
        return OutputLaw(values, error)

    # ---- release ---------------------------------------------------------------------

    def release(
        self,
        data: Sequence[Hashable] | None = None,
        *,
        counts: Iterable[object] | None = None,
        universe: Sequence[Hashable] | None = None,
        label: object = None,
        rng: Entropy | None = None,
    ) -> Release[float]:
        """Draw the sample and return its average, with the guarantee.

        The average is computed exactly and rounded once to a float.

        Args:
            data: n_records numbers out of the universe; or
            counts: records per value of the universe, in its order.
            universe: not needed; if given, it must list the universe of the mechanism.
            label, rng: as in `SampledMechanism.release`.

        Raises:
            InvalidData: as in `SampledMechanism.release`, or another universe.
        """
        if universe is not None and self.grid.counts(universe) != (1,) * len(self.universe):
            raise InvalidData(
                expected="the universe of the mechanism or none",
                got="another",
                remedy="Leave universe out",
            )
        if data is not None and counts is None:
            return super().release(counts=self.grid.counts(data), label=label, rng=rng)
        return super().release(data, counts=counts, label=label, rng=rng)

    def _output(self, counts: tuple[int, ...], rng: Entropy) -> float:
        drawn = self._sample(counts, rng)
        total = sum(
            (count * value for count, value in zip(drawn, self.universe, strict=True) if count),
            Fraction(0),
        )
        return float(total / self.n_draws)


@dataclass(frozen=True)
class AverageProfile(PrivacyProfile):
    """delta_epsilon(x) of the sampling-average at one database: all neighbours, both ways."""

    mechanism: SamplingAverage
    counts: tuple[int, ...]

    @property
    def neighbours(self) -> Neighbours:
        return Neighbours.REPLACE_ONE

    @cached_property
    def sums(self) -> SampleSums:
        """The weights of the sums of the samples."""
        return self.mechanism.sums(self.counts)

    def delta_bounds(self, epsilon: Parameter) -> tuple[float, float]:
        """Return floats (lower, upper) around delta_epsilon(x)."""
        lower, upper = super().delta_bounds(epsilon)
        cap = self.mechanism.inclusion_bounds()[1]
        return min(lower, cap), min(upper, cap)

    def log_delta_bounds(self, epsilon: Real) -> LogBounds:
        """Bound ln delta_epsilon(x) over every removed and added value."""
        bounds = worst_neighbour(self.sums, self.mechanism.grid.steps, epsilon)
        cap = self.mechanism.cap.logs
        return LogBounds(min(bounds.lower, cap.upper), min(bounds.upper, cap.upper))
