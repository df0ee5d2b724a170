"""A function of the histogram of a sample, published instead of it (Proposition 4 of paper 1)."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import ClassVar, NamedTuple

import numpy as np

from smoothdp.claims.curves.atoms import MOST_ATOMS
from smoothdp.claims.curves.profile import PrivacyProfile
from smoothdp.errors import InvalidData, InvalidParameter, OutOfReach
from smoothdp.exact.logspace.bounds import LIBM_ERROR, UNIT_ROUNDOFF, LogBounds
from smoothdp.exact.random.entropy import Entropy
from smoothdp.mechanisms.histogram.sample_law import (
    SampledHistogram,
    largest_magnitude,
    log_sample_law,
    sampled_histograms,
)
from smoothdp.mechanisms.sampling.finite_law import (
    FiniteLawMechanism,
    FiniteLawProfile,
    OutputLaw,
)
from smoothdp.sources import Source
from smoothdp.types import FloatArray, IntArray

# Sums run over blocks of this many terms and then over blocks: fewer roundings.
_BLOCK = 1024


class Grouping(NamedTuple):
    """Histograms (columns) sorted by output, and where each output's columns begin."""

    outputs: tuple[Hashable, ...]
    histograms: IntArray
    starts: IntArray

    @classmethod
    def by(cls, function: Callable[[tuple[int, ...]], Hashable], histograms: IntArray) -> Grouping:
        """Group by the function's value; outputs come in the order of their first histogram.

        Raises:
            InvalidData: an output that cannot be hashed.
        """
        group_of_output: dict[Hashable, int] = {}
        group = np.empty(histograms.shape[1], dtype=np.int64)
        for column, histogram in enumerate(histograms.T.tolist()):
            output = check_hashable(function(tuple(histogram)))
            group[column] = group_of_output.setdefault(output, len(group_of_output))
        order = np.argsort(group, kind="stable")
        starts = np.searchsorted(group[order], np.arange(len(group_of_output)))
        return cls(tuple(group_of_output), histograms[:, order], starts)

    def sums(self, law: OutputLaw) -> OutputLaw:
        """Return ln of the probability of each output, from those of the histograms.

        Terms are positive. In units of roundoff: a term e^-d of the largest is moved by d
        by its shift, which is at most 20 on the average over 1e8 terms; one unit for each
        sum; exp and ln (of at most 1e8 terms, so at most 19) are within 4 ulp.
        """
        logs = law.log_values
        sizes = np.diff(np.append(self.starts, logs.size))
        tops = np.maximum.reduceat(logs, self.starts)
        safe = np.where(np.isfinite(tops), tops, 0.0)
        sums, n_sums = _block_sums(np.exp(logs - np.repeat(safe, sizes)), self.starts, sizes)
        with np.errstate(divide="ignore"):
            values = safe + np.log(sums)
        rounding = (22 + n_sums + largest_magnitude(values)) * UNIT_ROUNDOFF + 20 * LIBM_ERROR
        return OutputLaw(values, law.error + 1.01 * rounding)


def _block_sums(terms: FloatArray, starts: IntArray, sizes: IntArray) -> tuple[FloatArray, int]:
    """Return the sums of runs of terms, and the most additions that any term goes through."""
    blocks = -(-sizes // _BLOCK)
    first_block = np.cumsum(blocks) - blocks
    within = np.arange(int(blocks.sum())) - np.repeat(first_block, blocks)
    block_sums = np.add.reduceat(terms, np.repeat(starts, blocks) + within * _BLOCK)
    return np.add.reduceat(block_sums, first_block), min(_BLOCK, int(sizes.max())) + int(
        blocks.max()
    )


def check_hashable(output: Hashable) -> Hashable:
    """Return the output of a function, or raise InvalidData if it cannot be hashed."""
    try:
        hash(output)
    except TypeError:
        raise InvalidData(
            expected="a function whose outputs can be hashed",
            got=f"a {type(output).__name__}",
            remedy="Return numbers, text or tuples, such as tuple(values) in place of a list",
        ) from None
    return output


MOST_HISTOGRAMS = 2_000_000
_REMEDY = (
    "Sample fewer records, join categories, or use delta of the histogram itself, which no "
    "function of it exceeds"
)
HistogramFunction = Callable[[tuple[int, ...]], Hashable]


@dataclass(frozen=True)
class PostProcessed(FiniteLawMechanism[Hashable]):
    """Sample records at random and publish a function of the histogram of the sample.

    delta is exact for the function: never more than that of the histogram (Proposition 4),
    often much less. The guarantee known before the data is that of the histogram.

    Source: Liu, Wang, Xia, Smoothed Differential Privacy, Proposition 4.

    Args:
        mechanism: a `SamplingHistogram` or `BernoulliHistogram`.
        function: takes the sampled histogram, a tuple of ints (one per category), and
            returns a hashable value. The function must be deterministic and must not look at the
            data. Outputs that compare equal count as one.

    Raises:
        InvalidParameter: another mechanism, or something that cannot be called.

    >>> from smoothdp.mechanisms import SamplingHistogram
    >>> ahead = PostProcessed(SamplingHistogram(9, n_draws=5), lambda h: h[0] > h[1])
    >>> round(ahead.delta([5, 4], epsilon=0), 10)
    0.2857142857
    """

    source: ClassVar[Source] = Source("liu-wang-xia", "Proposition 4")
    mechanism: SampledHistogram
    function: HistogramFunction
    n_records: int = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if not isinstance(self.mechanism, SampledHistogram):
            raise InvalidParameter(
                expected="mechanism as a SamplingHistogram or BernoulliHistogram",
                got=f"{type(self.mechanism).__name__}",
                remedy="Give the mechanism whose sampled histogram the function takes",
            )
        if not callable(self.function):
            raise InvalidParameter(
                expected="function as something that can be called",
                got=f"function={self.function!r}",
                remedy="Give a function of the sampled histogram",
            )
        object.__setattr__(self, "n_records", self.mechanism.n_records)

    def describe(self) -> str:
        """Return the mechanism and its public parameters in words."""
        name = getattr(self.function, "__name__", type(self.function).__name__)
        return f"{name} of the {self.mechanism.describe()}"

    def log_inclusion(self) -> LogBounds:
        """Bound ln of the probability that a given record is in the sample at all."""
        return self.mechanism.log_inclusion()

    def inclusion(self) -> Fraction:
        """Return the probability that a record is in the sample, or a rational just above."""
        return self.mechanism.inclusion()

    def outputs(self, n_categories: int) -> tuple[Hashable, ...]:
        """Return all outputs, over every database, in the order of `output_law`.

        Raises:
            OutOfReach: more than 2e6 histograms.
        """
        return self._everywhere(n_categories).outputs

    def output_law(self, counts: tuple[int, ...]) -> OutputLaw:
        """Return the law of the output, in an order that is the same for all counts.

        Raises:
            OutOfReach: more than 2e6 histograms over all databases with these categories.
        """
        return self.law_over(self._everywhere(len(counts)), counts)

    def profile_at(self, counts: tuple[int, ...]) -> PrivacyProfile:
        """Return the profile at validated counts.

        Only the histograms that these counts and their neighbours can show are listed.

        Raises:
            OutOfReach: more than 2e6 histograms, or more than 5e6 outputs over all neighbours.
        """
        grouping = self.reachable(counts)
        n_neighbours = sum(count > 0 for count in counts) * (len(counts) - 1)
        if len(grouping.outputs) * n_neighbours > MOST_ATOMS:
            raise OutOfReach(
                expected=f"outputs * neighbours <= {MOST_ATOMS}",
                got=f"{len(grouping.outputs)} * {n_neighbours}",
                remedy=_REMEDY,
            )
        return PostProcessedProfile(self, counts, grouping)

    def reachable(self, counts: tuple[int, ...]) -> Grouping:
        """Return the histograms that these counts or a neighbour can show, by output."""
        return self._grouped([count + 1 for count in counts])

    def law_over(self, grouping: Grouping, counts: tuple[int, ...]) -> OutputLaw:
        """Return the law of the output at counts whose histograms are all in a grouping."""
        return grouping.sums(log_sample_law(self.mechanism, grouping.histograms, counts))

    def _grouped(self, limits: Sequence[int]) -> Grouping:
        histograms = sampled_histograms(
            self.mechanism, limits, most=MOST_HISTOGRAMS, remedy=_REMEDY
        )
        return Grouping.by(self.function, histograms)

    def _everywhere(self, n_categories: int) -> Grouping:
        if n_categories not in self._known:
            self._known[n_categories] = self._grouped([self.n_records] * n_categories)
        return self._known[n_categories]

    @cached_property
    def _known(self) -> dict[int, Grouping]:
        """The groupings over every database, by number of categories."""
        return {}

    def _output(self, counts: tuple[int, ...], rng: Entropy) -> Hashable:
        return check_hashable(self.function(self.mechanism._output(counts, rng)))


@dataclass(frozen=True)
class PostProcessedProfile(FiniteLawProfile):
    """delta_epsilon(x) of a function of the histogram: every neighbour, both directions."""

    mechanism: PostProcessed
    grouping: Grouping

    def _law(self, counts: tuple[int, ...]) -> OutputLaw:
        return self.mechanism.law_over(self.grouping, counts)
