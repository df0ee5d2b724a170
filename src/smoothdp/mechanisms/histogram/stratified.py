"""A stratified sample published as a table: one histogram per stratum."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, TypeAlias

from smoothdp.claims.curves.profile import PrivacyProfile
from smoothdp.claims.guarantees.guarantee import Guarantee
from smoothdp.claims.guarantees.standard import ApproxDP
from smoothdp.claims.label import Label
from smoothdp.claims.neighbours import Neighbours
from smoothdp.claims.release import Release, library_version
from smoothdp.errors import InvalidData, InvalidParameter
from smoothdp.exact.logspace.bounds import LogBounds
from smoothdp.exact.logspace.log_sums import largest
from smoothdp.exact.parameters.numbers import Real
from smoothdp.exact.random.entropy import Entropy, read_rng
from smoothdp.mechanisms.histogram.histogram_mechanism import HistogramMechanism
from smoothdp.mechanisms.sampling.sampled import Measured
from smoothdp.sources import Source

StrataCounts: TypeAlias = Mapping[str, Iterable[object]] | Sequence[Iterable[object]]
"""Counts of every stratum, by name or in order."""


@dataclass(frozen=True, init=False)
class StratifiedHistogram(Measured[StrataCounts]):
    """Independent samples of several strata, all histograms published.

    The strata and their sizes are public, and a record stays in its stratum: neighbours
    replace one record within a stratum. The other strata then have the same law on both
    sides, so the hockey stick of all tables together is that of the one stratum, and
    delta(x) is the largest over the strata (proofs/smoothed-delta#9). No composition is paid.

    Source: Liu, Wang, Xia, Algorithm 2, applied to each stratum.

    Args:
        strata: the mechanism of each stratum, by name or in order; at least one.

    Raises:
        InvalidParameter: no stratum, or something else than a histogram mechanism.

    >>> from smoothdp.mechanisms.histogram.sampling_histogram import SamplingHistogram
    >>> table = StratifiedHistogram(
    ...     {"north": SamplingHistogram(60, n_draws=30), "south": SamplingHistogram(40, n_draws=10)}
    ... )
    >>> round(table.delta({"north": [20, 40], "south": [15, 25]}, epsilon=1), 6)
    0.000218
    """

    source: ClassVar[Source] = Source("liu-wang-xia", "Algorithm 2")
    names: tuple[str, ...]
    strata: tuple[HistogramMechanism, ...]

    def __init__(
        self, strata: Mapping[str, HistogramMechanism] | Sequence[HistogramMechanism]
    ) -> None:
        named = strata if isinstance(strata, Mapping) else _numbered(strata)
        if not named:
            raise InvalidParameter(
                expected="a mapping or list of at least one stratum",
                got="none",
                remedy="Give the mechanism of each stratum",
            )
        for name, mechanism in named.items():
            if not isinstance(mechanism, HistogramMechanism):
                raise InvalidParameter(
                    expected="a SamplingHistogram or BernoulliHistogram for each stratum",
                    got=f"{type(mechanism).__name__} for {name!r}",
                    remedy="Give the mechanism of that stratum",
                )
        object.__setattr__(self, "names", tuple(str(name) for name in named))
        object.__setattr__(self, "strata", tuple(named.values()))

    @property
    def n_records(self) -> int:
        """The number of records of all strata."""
        return sum(mechanism.n_records for mechanism in self.strata)

    def describe(self) -> str:
        """Return the strata and their mechanisms in words."""
        named = zip(self.names, self.strata, strict=True)
        return "; ".join(f"{name}: {mechanism.describe()}" for name, mechanism in named)

    def inclusion(self) -> Fraction:
        """Return the largest probability that a given record is in its sample, or just above."""
        return max(mechanism.inclusion() for mechanism in self.strata)

    @property
    def guarantee(self) -> Guarantee:
        """What is promised before any data are seen: that of the stratum that is sampled most."""
        return ApproxDP(0, delta=self.inclusion())

    def at(self, counts: StrataCounts) -> StrataProfile:
        """Return the privacy profile at counts per stratum, named or in order.

        It is a function of the data, as private as the data: use it on public, hypothetical
        or modelled databases.

        Raises:
            InvalidData: a stratum without counts or unknown, or counts that do not fit it.
        """
        counted = zip(self.strata, self._in_order(counts), strict=True)
        return StrataProfile(
            tuple(mechanism.at(stratum_counts) for mechanism, stratum_counts in counted)
        )

    def release(
        self,
        *,
        counts: StrataCounts,
        label: object = None,
        rng: Entropy | None = None,
    ) -> Release[dict[str, tuple[int, ...]]]:
        """Draw every stratum's sample and return the tables by name, with the guarantee.

        Args:
            counts: records per category of every stratum, by name or in order.
            label: a name, or a `smoothdp.claims.label.Label` with purpose and who.
            rng: `SystemRandom()` (default), or `SeededRandom`, whose output is marked not
                private.

        Raises:
            InvalidData: as `at`; nothing is released then.
        """
        listed = [list(stratum_counts) for stratum_counts in self._in_order(counts)]
        for mechanism, stratum_counts in zip(self.strata, listed, strict=True):
            mechanism.at(stratum_counts)
        named, source = Label.read(label), read_rng(rng)
        value = {
            name: mechanism.release(counts=stratum_counts, rng=source).value
            for name, mechanism, stratum_counts in zip(self.names, self.strata, listed, strict=True)
        }
        return Release(
            value=value,
            guarantee=self.guarantee,
            mechanism=self.describe(),
            is_private=source.is_private,
            library_version=library_version(),
            sources=(self.source,),
            label=named,
        )

    def _in_order(self, counts: StrataCounts) -> list[Iterable[object]]:
        if isinstance(counts, Mapping):
            if set(counts) != set(self.names):
                raise InvalidData(
                    expected=f"counts of the strata {', '.join(self.names)}",
                    got=f"{', '.join(map(str, counts)) or 'none'}",
                    remedy="Give every stratum its counts",
                )
            return [counts[name] for name in self.names]
        listed = list(counts)
        if len(listed) != len(self.strata):
            raise InvalidData(
                expected=f"counts of {len(self.strata)} strata",
                got=f"{len(listed)}",
                remedy="Give one list of counts per stratum",
            )
        return listed


@dataclass(frozen=True, slots=True)
class StrataProfile(PrivacyProfile):
    """The largest of the profiles of independent strata."""

    profiles: tuple[PrivacyProfile, ...]

    @property
    def neighbours(self) -> Neighbours:
        return Neighbours.REPLACE_ONE

    def log_delta_bounds(self, epsilon: Real) -> LogBounds:
        """Bound ln of the largest delta over the strata."""
        return largest([profile.log_delta_bounds(epsilon) for profile in self.profiles])


def _numbered(strata: Sequence[HistogramMechanism]) -> dict[str, HistogramMechanism]:
    listed = strata if isinstance(strata, Iterable) else ()
    return {f"stratum {number}": mechanism for number, mechanism in enumerate(listed, 1)}
