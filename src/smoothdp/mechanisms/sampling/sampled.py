"""What every mechanism over a random sample of records offers.

Such a mechanism draws records at random and publishes a function of the histogram of the sample.
Shared are the profile at counts, ordinary DP beside that profile, and the frame of a release.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from fractions import Fraction
from functools import cached_property
from typing import ClassVar, Generic, NamedTuple, TypeVar

from smoothdp.claims.curves.profile import PrivacyProfile
from smoothdp.claims.domains import read_epsilon
from smoothdp.claims.guarantees.guarantee import Guarantee
from smoothdp.claims.guarantees.standard import ApproxDP
from smoothdp.claims.label import Label
from smoothdp.claims.release import Release, library_version
from smoothdp.errors import InvalidData
from smoothdp.exact.logspace.bounds import LogBounds
from smoothdp.exact.parameters.numbers import Parameter, float_bounds
from smoothdp.exact.random.entropy import Entropy, read_rng
from smoothdp.mechanisms.sampling.counts import read_counts
from smoothdp.sources import Source

Counts_contra = TypeVar("Counts_contra", contravariant=True)


class Measured(ABC, Generic[Counts_contra]):
    """A mechanism whose delta depends on the database; shorthand for questions about it."""

    @abstractmethod
    def at(self, counts: Counts_contra) -> PrivacyProfile:
        """Return the privacy profile delta_epsilon(x) at a database with these counts."""

    def delta(self, counts: Counts_contra, *, epsilon: Parameter) -> float:
        """Return delta_epsilon(x), never below the truth (see `at`)."""
        return self.at(counts).delta(epsilon)

    def delta_bounds(self, counts: Counts_contra, *, epsilon: Parameter) -> tuple[float, float]:
        """Return floats (lower, upper) around delta_epsilon(x) (see `at`)."""
        return self.at(counts).delta_bounds(epsilon)

    def log_delta(self, counts: Counts_contra, *, epsilon: Parameter) -> float:
        """Return ln delta_epsilon(x), never below the truth (see `at`)."""
        return self.at(counts).log_delta(epsilon)


Value = TypeVar("Value")


class Cap(NamedTuple):
    """The probability of being sampled: bounds of its logarithm, and of itself."""

    logs: LogBounds
    floats: tuple[float, float]


class SampledMechanism(Measured[Iterable[object]], Generic[Value]):
    """A mechanism that samples records at random and publishes a value computed from them."""

    source: ClassVar[Source]
    n_records: int

    # ---- what each mechanism provides -----------------------------------------------

    @abstractmethod
    def log_inclusion(self) -> LogBounds:
        """Bound ln of the probability that a given record is in the sample at all."""

    @abstractmethod
    def inclusion(self) -> Fraction:
        """Return the probability that a record is in the sample, or a rational just above."""

    @abstractmethod
    def profile_at(self, counts: tuple[int, ...]) -> PrivacyProfile:
        """Return the profile at validated counts (see `at`)."""

    @abstractmethod
    def _output(self, counts: tuple[int, ...], rng: Entropy) -> Value:
        """Draw the published value."""

    @abstractmethod
    def describe(self) -> str:
        """Return the mechanism and its public parameters in words."""

    def check_counts(self, counts: tuple[int, ...]) -> None:
        """Refuse counts that this mechanism cannot take (none here), with InvalidData."""

    # ---- measure --------------------------------------------------------------------

    def at(self, counts: Iterable[object]) -> PrivacyProfile:
        """Return the privacy profile delta_epsilon(x) at a database with these counts.

        delta_epsilon(x) is the least delta for which (epsilon, delta)-indistinguishability
        holds between x and every database that replaces one record of x, in both
        directions (Definition 2 of paper 1). The profile is a function of the data, as private as
        the data: use it on public, hypothetical or modelled databases.

        Args:
            counts: records per category over the whole universe, empty categories
                included; at least two, adding up to n_records.

        Raises:
            InvalidData: counts that are negative, fractional, or add up to another number.
        """
        return self.profile_at(self._read(counts))

    def worst_case_delta(self, *, epsilon: Parameter) -> float:
        """Return a delta of ordinary DP at epsilon, rounded up.

        It is the probability that a given record is in the sample at all, for every finite
        epsilon >= 0: a coupling shows that delta is never more (proofs/two-smallest#6).
        """
        read_epsilon(epsilon)
        return self.inclusion_bounds()[1]

    def inclusion_bounds(self) -> tuple[float, float]:
        """Return floats around the probability that a given record is in the sample."""
        return self.cap.floats

    @cached_property
    def cap(self) -> Cap:
        """The probability that a given record is in the sample, which no delta exceeds."""
        log_bounds = self.log_inclusion()
        upper = float_bounds(self.inclusion())[1]
        # inclusion() itself may be rounded up; the logarithm has both bounds.
        return Cap(log_bounds, (log_bounds.linear()[0], upper))

    # ---- release --------------------------------------------------------------------

    @property
    def guarantee(self) -> Guarantee:
        """What is promised before any data are seen: (0, inclusion probability)-DP."""
        return ApproxDP(0, delta=self.inclusion())

    def release(
        self,
        data: Sequence[Hashable] | None = None,
        *,
        counts: Iterable[object] | None = None,
        universe: Sequence[Hashable] | None = None,
        label: object = None,
        rng: Entropy | None = None,
    ) -> Release[Value]:
        """Draw the sample and return what is published, with the guarantee.

        Args:
            data: the records, with ``universe`` naming all categories in order; or
            counts: records per category, empty ones included.
            universe: all categories a record may have, in the order of the output.
            label: a name, or a `smoothdp.claims.label.Label` with purpose and who.
            rng: `SystemRandom()` (default), or `SeededRandom`, whose output is marked not
                private.

        Raises:
            InvalidData: neither or both of data and counts, a record outside the universe,
                or counts that do not add up to n_records. Nothing is released then.
        """
        if (data is None) == (counts is None):
            raise InvalidData(
                expected="either data or counts",
                got="both or neither",
                remedy="Give exactly one of them",
            )
        if data is not None:
            counts = count_records(data, universe)
        assert counts is not None
        checked = self._read(counts)
        named, source = Label.read(label), read_rng(rng)
        return Release(
            value=self._output(checked, source),
            guarantee=self.guarantee,
            mechanism=self.describe(),
            is_private=source.is_private,
            library_version=library_version(),
            sources=(self.source,),
            label=named,
        )

    def _read(self, counts: Iterable[object]) -> tuple[int, ...]:
        checked = read_counts(counts, total=self.n_records)
        self.check_counts(checked)
        return checked


def count_records(data: Sequence[Hashable], universe: Sequence[Hashable] | None) -> tuple[int, ...]:
    """Return the number of records per category of the universe, or raise InvalidData."""
    if universe is None:
        raise InvalidData(
            expected="universe, the list of all categories, beside data",
            got="no universe",
            remedy="Name every category a record may have, seen or not",
        )
    tally = Counter(_hashable(data))
    if not frozenset(universe).issuperset(tally):
        raise InvalidData(
            expected="records of the universe",
            got="another",
            remedy="Add the missing categories to universe, or leave those records out",
        )
    return tuple(tally.get(category, 0) for category in universe)


def _hashable(data: Sequence[Hashable]) -> list[Hashable]:
    """Return the records, or raise InvalidData where one cannot be a category."""
    records = list(data)
    if not all(isinstance(record, Hashable) for record in records):
        raise InvalidData(
            expected="records that are names or numbers",
            got="lists or the like",
            remedy="Give the category of each record, a name or a number",
        )
    return records
