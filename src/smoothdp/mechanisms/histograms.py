"""Histograms of a sample, released without added noise (Algorithm 2 of paper 1).

The shared part: profile at given counts, ordinary DP beside it, the adversary's utility,
and the release itself.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar, NamedTuple

from smoothdp.errors import InvalidData, InvalidParameter, explain
from smoothdp.exact.entropy import Entropy, SystemRandom
from smoothdp.exact.logspace import LogBounds
from smoothdp.exact.parameters import Parameter, Real, exact_fraction, float_bounds
from smoothdp.mechanisms.counts import read_counts
from smoothdp.privacy.neighbours import Neighbours
from smoothdp.privacy.profile import PrivacyProfile, read_epsilon
from smoothdp.privacy.release import Release, library_version
from smoothdp.privacy.standard import ApproxDP
from smoothdp.sources import Source


class _Cap(NamedTuple):
    """The probability of being sampled: bounds of its logarithm, and of itself."""

    logs: LogBounds
    floats: tuple[float, float]


class HistogramMechanism(ABC):
    """A mechanism that samples records at random and publishes how many fell where."""

    source: ClassVar[Source]
    n_records: int

    # ---- what each way of sampling provides -----------------------------------------

    @abstractmethod
    def log_inclusion(self) -> LogBounds:
        """Bound ln of the probability that a given record is in the sample at all."""

    @abstractmethod
    def inclusion(self) -> Fraction:
        """Return that probability, or a rational number just above it."""

    @abstractmethod
    def pair_divergence(self, count_a: int, count_b: int, epsilon: Real) -> LogBounds:
        """Bound ln D(count_a, count_b), for count_a >= 2 and count_b >= 1."""

    @abstractmethod
    def _log_utility(self, known: tuple[int, ...], threshold: Fraction) -> LogBounds:
        """Bound ln u for validated arguments."""

    @abstractmethod
    def _sample(self, counts: tuple[int, ...], rng: Entropy) -> tuple[int, ...]:
        """Draw the histogram of a sample."""

    @abstractmethod
    def describe(self) -> str:
        """Return the mechanism and its public parameters in words."""

    # ---- measure --------------------------------------------------------------------

    def at(self, counts: Iterable[object]) -> PrivacyProfile:
        """Return the privacy profile delta_epsilon(x) at a database with these counts.

        delta_epsilon(x) is the least delta for which (epsilon, delta)-indistinguishability
        holds between x and every database that replaces one record of x, in both
        directions (Definition 2 of paper 1). It is a function of the data, as private as
        the data: use it on public, hypothetical or modelled databases.

        Args:
            counts: records per category over the whole universe, empty categories
                included; at least two, adding up to n_records.

        Raises:
            InvalidData: counts that are negative, fractional, or add up to another number.
        """
        return HistogramProfile(self, read_counts(counts, total=self.n_records))

    def delta(self, counts: Iterable[object], *, epsilon: Parameter) -> float:
        """Return delta_epsilon(x), never below the truth (see `at`)."""
        return self.at(counts).delta(epsilon)

    def delta_bounds(self, counts: Iterable[object], *, epsilon: Parameter) -> tuple[float, float]:
        """Return floats (lower, upper) around delta_epsilon(x) (see `at`)."""
        return self.at(counts).delta_bounds(epsilon)

    def log_delta(self, counts: Iterable[object], *, epsilon: Parameter) -> float:
        """Return ln delta_epsilon(x), never below the truth (see `at`)."""
        return self.at(counts).log_delta(epsilon)

    def worst_case_delta(self, *, epsilon: Parameter) -> float:
        """Return the delta of ordinary DP at epsilon: exact, rounded up.

        It is the probability that a given record is in the sample at all, for every finite
        epsilon >= 0: a coupling shows that it is never more, and a database with a single
        record in some category attains it (notes A5; Theorem 3(iii) of paper 1).
        """
        read_epsilon(epsilon)
        return self.inclusion_bounds()[1]

    def inclusion_bounds(self) -> tuple[float, float]:
        """Return floats around the probability that a given record is in the sample."""
        return self._cap.floats

    @cached_property
    def _cap(self) -> _Cap:
        log_bounds = self.log_inclusion()
        lower, upper = float_bounds(self.inclusion())
        return _Cap(log_bounds, (min(lower, log_bounds.linear()[1]), upper))

    def adversary_utility(
        self, counts_without_target: Iterable[object], *, threshold: Parameter
    ) -> float:
        """Return the adversary's utility, eq. (3) of paper 1, never below the truth.

        Args:
            counts_without_target: records per category without the record that the
                adversary is after; they add up to n_records - 1.
            threshold: t, the accuracy below which a guess counts for nothing; at least
                1 / (number of categories), where guessing starts, and below 1.

        Raises:
            InvalidData, InvalidParameter: arguments outside these domains.
            OutOfReach: three or more categories and more outputs than can be enumerated.
        """
        return self.log_adversary_utility(counts_without_target, threshold=threshold).linear()[1]

    def log_adversary_utility(
        self, counts_without_target: Iterable[object], *, threshold: Parameter
    ) -> LogBounds:
        """Return bounds of ln of the adversary's utility (see `adversary_utility`)."""
        known = read_counts(
            counts_without_target, total=self.n_records - 1, what="counts_without_target"
        )
        limit = Fraction(1, len(known))
        fraction = exact_fraction(threshold, name="threshold")
        if not limit <= fraction < 1:
            raise InvalidParameter(
                explain(
                    f"{limit} <= threshold < 1 with {len(known)} categories",
                    f"threshold={threshold}",
                    "Choose an accuracy better than guessing and below certainty",
                )
            )
        return self._log_utility(known, fraction)

    # ---- release --------------------------------------------------------------------

    @property
    def guarantee(self) -> ApproxDP:
        """What is promised before any data are seen: (0, inclusion probability)-DP."""
        return ApproxDP(0, delta=self.inclusion())

    def release(
        self,
        data: Sequence[Hashable] | None = None,
        *,
        counts: Iterable[object] | None = None,
        universe: Sequence[Hashable] | None = None,
        rng: Entropy | None = None,
    ) -> Release[tuple[int, ...]]:
        """Draw the sample and return its histogram with the guarantee.

        Args:
            data: the records, with ``universe`` naming all categories in order; or
            counts: records per category, empty ones included.
            universe: all categories a record may have, in the order of the output.
            rng: `SystemRandom()` (default), or `SeededRandom`, whose output is marked not
                private.

        Raises:
            InvalidData: neither or both of data and counts, a record outside the universe,
                or counts that do not add up to n_records. Nothing is released then.
        """
        if (data is None) == (counts is None):
            raise InvalidData(
                explain("either data or counts", "both or neither", "Give exactly one of them")
            )
        if data is not None:
            counts = count_records(data, universe)
        assert counts is not None
        checked = read_counts(counts, total=self.n_records)
        source = SystemRandom() if rng is None else rng
        return Release(
            value=self._sample(checked, source),
            guarantee=self.guarantee,
            mechanism=self.describe(),
            is_private=source.is_private,
            library_version=library_version(),
            sources=(self.source,),
        )


@dataclass(frozen=True, slots=True)
class HistogramProfile(PrivacyProfile):
    """delta_epsilon(x) of a histogram mechanism at one database, all neighbours."""

    mechanism: HistogramMechanism
    counts: tuple[int, ...]

    @property
    def neighbours(self) -> Neighbours:
        return Neighbours.REPLACE_ONE

    def delta_bounds(self, epsilon: Parameter) -> tuple[float, float]:
        """Return floats (lower, upper) around delta_epsilon(x)."""
        cap = self.mechanism.inclusion_bounds()
        if min(self.counts) <= 1:
            read_epsilon(epsilon)
            return cap
        lower, upper = PrivacyProfile.delta_bounds(self, epsilon)
        return min(lower, cap[1]), min(upper, cap[1])

    def log_delta_bounds(self, epsilon: Real) -> LogBounds:
        """Bound ln delta_epsilon(x): the worst of the two smallest counts (notes A3, A5)."""
        smallest = sorted(self.counts)[:2]
        cap = self.mechanism._cap.logs
        if smallest[0] <= 1:
            return cap
        bounds = [self.mechanism.pair_divergence(a, b, epsilon) for a, b in worst_pairs(smallest)]
        worst = largest(bounds)
        return LogBounds(worst.lower, min(worst.upper, cap.upper))


def count_records(data: Sequence[Hashable], universe: Sequence[Hashable] | None) -> tuple[int, ...]:
    """Return the number of records per category of the universe, or raise InvalidData."""
    if universe is None:
        raise InvalidData(
            explain(
                "universe, the list of all categories, beside data",
                "no universe",
                "Name every category a record may have, seen or not",
            )
        )
    places = {category: place for place, category in enumerate(universe)}
    tally = Counter(data)
    unknown = next((value for value in tally if value not in places), None)
    if unknown is not None:
        raise InvalidData(
            explain(
                "records of the universe", f"{unknown!r}", "Add it to the universe or mend the data"
            )
        )
    return tuple(tally.get(category, 0) for category in universe)


def worst_pairs(smallest: Sequence[int]) -> list[tuple[int, int]]:
    """Return the arguments (H_a, H_b) of D among which the worst neighbour is found.

    ``smallest`` holds the two smallest counts, at least 2 each: D falls when either of its
    arguments grows (composition notes C(i)), so both orders in both directions suffice.

    >>> worst_pairs([2, 5])
    [(2, 5), (5, 2), (6, 1), (3, 4)]
    """
    small, large = smallest
    directed = [(small, large), (large, small), (large + 1, small - 1), (small + 1, large - 1)]
    return list(dict.fromkeys(directed))


def largest(bounds: Sequence[LogBounds]) -> LogBounds:
    """Return bounds of the largest of several truths."""
    return LogBounds(max(b.lower for b in bounds), max(b.upper for b in bounds))
