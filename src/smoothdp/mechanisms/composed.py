"""Independent releases about the same records: the exact privacy of all of them together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, TypeAlias

from smoothdp.claims.curves.atoms import MOST_ATOMS, Atoms
from smoothdp.claims.curves.profile import PrivacyProfile
from smoothdp.claims.neighbours import Neighbours
from smoothdp.errors import InvalidParameter, OutOfReach
from smoothdp.exact.logspace.bounds import LogBounds
from smoothdp.exact.logspace.log_sums import largest
from smoothdp.exact.parameters.numbers import Real
from smoothdp.mechanisms.histogram.post_processed import PostProcessed
from smoothdp.mechanisms.histogram.sample_law import (
    SampledHistogram,
    log_sample_law,
    sampled_histograms,
)
from smoothdp.mechanisms.sampling.counts import read_counts
from smoothdp.mechanisms.sampling.finite_law import (
    FiniteLawMechanism,
    OutputLaw,
    both_ways,
    move_record,
)
from smoothdp.mechanisms.sampling.sampled import Measured
from smoothdp.sources import Source

Listed: TypeAlias = SampledHistogram | FiniteLawMechanism[Any]
"""A mechanism that can list its output law."""
PairOf: TypeAlias = Callable[[int, int], Atoms]
"""From categories a, b to the laws at the counts and after one record went from a to b."""
_REMEDY = "Compose their profiles instead (an upper bound), or take smaller samples"


@dataclass(frozen=True, init=False)
class Composed(Measured[Iterable[object]]):
    """Several mechanisms run independently on the same records, all outputs seen.

    All releases see the same database x, or all see the same neighbour x'. So for each
    neighbour the joint law is the product of the laws, and its hockey stick is exact, where
    composing profiles has to allow for a different worst neighbour and direction in each
    release (proofs/composition-at-a-database#1, #3). Each mechanism is fixed before any output is
    seen.

    Source: Liu, Wang, Xia, Smoothed Differential Privacy, Proposition 5, which says that
    delta at epsilon_1 + ... + epsilon_k is at most delta_1 + ... + delta_k.

    Args:
        mechanisms: at least one `SamplingHistogram`, `BernoulliHistogram`,
            `NoisySamplingHistogram`, `PostProcessed` or other mechanism with an output law,
            all with one n_records. A mechanism may occur several times.

    Raises:
        InvalidParameter: no mechanism, one without an output law, different n_records.

    >>> from smoothdp.mechanisms import SamplingHistogram
    >>> twice = Composed([SamplingHistogram(12, n_draws=4), SamplingHistogram(12, n_draws=6)])
    >>> round(twice.delta([5, 7], epsilon=1), 10)
    0.0572439298
    """

    source: ClassVar[Source] = Source("liu-wang-xia", "Proposition 5")
    mechanisms: tuple[Listed, ...]

    def __init__(self, mechanisms: Iterable[Listed]) -> None:
        listed = tuple(mechanisms) if isinstance(mechanisms, Iterable) else ()
        if not listed:
            raise InvalidParameter(
                expected="a list of at least one mechanism",
                got="none",
                remedy="Give the mechanisms that are run",
            )
        for mechanism in listed:
            if not isinstance(mechanism, SampledHistogram | FiniteLawMechanism):
                raise InvalidParameter(
                    expected="mechanisms that can list their output law",
                    got=f"{type(mechanism).__name__}",
                    remedy="Compose the others here and its profile with the result",
                )
        sizes = sorted({mechanism.n_records for mechanism in listed})
        if len(sizes) > 1:
            raise InvalidParameter(
                expected="mechanisms over the same records, with one n_records",
                got=f"n_records={sizes}",
                remedy="Measure releases about different records separately",
            )
        object.__setattr__(self, "mechanisms", listed)

    @property
    def n_records(self) -> int:
        """The number of records, public."""
        return self.mechanisms[0].n_records

    def describe(self) -> str:
        """Return the mechanisms in words."""
        return "; ".join(mechanism.describe() for mechanism in self.mechanisms)

    def at(self, counts: Iterable[object]) -> PrivacyProfile:
        """Return the privacy profile of all releases together at these counts.

        It is a function of the data, as private as the data: use it on public, hypothetical
        or modelled databases. Laws are listed when the profile is first asked for a number.

        Args:
            counts: records per category over the whole universe, empty categories
                included; at least two, adding up to n_records.

        Raises:
            InvalidData: counts that are negative, fractional, or add up to another number.
            OutOfReach (from the profile): more than 5e6 joint outputs.
        """
        checked = read_counts(counts, total=self.n_records)
        for mechanism in self.mechanisms:
            mechanism.check_counts(checked)
        return ComposedProfile(self, checked)


@dataclass(frozen=True)
class ComposedProfile(PrivacyProfile):
    """delta_epsilon(x) of joint independent releases: every neighbour, both directions.

    Outputs of one likelihood ratio are joined (proofs/composition-at-a-database#2).
    """

    composed: Composed
    counts: tuple[int, ...]

    @property
    def neighbours(self) -> Neighbours:
        return Neighbours.REPLACE_ONE

    @cached_property
    def pairs(self) -> tuple[Atoms, ...]:
        """The joint laws at the counts and at each neighbour that can be the worst."""
        factors = [_pairs_of(mechanism, self.counts) for mechanism in self.composed.mechanisms]
        joint: list[Atoms] = []
        size = 0
        for a, b in self._moves():
            atoms = factors[0](a, b).alive().joined()
            for factor in factors[1:]:
                atoms = atoms.times(factor(a, b).alive().joined())
            joint.append(atoms)
            size += atoms.log_p.size
            if size > MOST_ATOMS:
                raise OutOfReach(
                    expected=f"at most {MOST_ATOMS} joint outputs over all neighbours",
                    got="more",
                    remedy=_REMEDY,
                )
        return tuple(joint)

    def _moves(self) -> Iterator[tuple[int, int]]:
        """Yield the moves of one record from a category a to another, b, that matter.

        If all releases are sampled histograms, the two smallest counts suffice: the proof
        for one relabels a marked record by coins that are the same under both hypotheses, and
        such coins may be tossed for each release by itself (proofs/two-smallest#8).
        """
        categories = range(len(self.counts))
        if not all(isinstance(m, SampledHistogram) for m in self.composed.mechanisms):
            yield from ((a, b) for a in categories for b in categories if a != b and self.counts[a])
            return
        order = sorted(categories, key=self.counts.__getitem__)
        if self.counts[order[0]]:
            yield from ((order[0], order[1]), (order[1], order[0]))
            return
        yield next(a for a in order if self.counts[a]), order[0]

    def log_delta_bounds(self, epsilon: Real) -> LogBounds:
        """Bound ln delta_epsilon(x): the largest over the neighbours and both directions."""
        return largest([atoms.log_excess(epsilon) for atoms in both_ways(self.pairs)])


def _pairs_of(mechanism: Listed, counts: tuple[int, ...]) -> PairOf:
    """Return the pairs of output laws of one mechanism."""
    if isinstance(mechanism, SampledHistogram):
        return lambda a, b: _histogram_pair(mechanism, counts[a], counts[b])
    if isinstance(mechanism, PostProcessed):
        grouping = mechanism.reachable(counts)
        return _finite_pairs(lambda c: mechanism.law_over(grouping, c), counts)
    return _finite_pairs(mechanism.output_law, counts)


def _histogram_pair(mechanism: SampledHistogram, count_a: int, count_b: int) -> Atoms:
    """Return the laws of the numbers sampled of the two categories and of all others.

    The likelihood ratio depends on the first two alone (proofs/two-smallest#1).
    """
    others = mechanism.n_records - count_a - count_b
    histograms = sampled_histograms(
        mechanism, (count_a, count_b + 1, others), most=MOST_ATOMS, remedy=_REMEDY
    )
    law_at_counts = log_sample_law(mechanism, histograms, (count_a, count_b, others))
    return law_at_counts.against(
        log_sample_law(mechanism, histograms, (count_a - 1, count_b + 1, others))
    )


def _finite_pairs(law: Callable[[tuple[int, ...]], OutputLaw], counts: tuple[int, ...]) -> PairOf:
    law_at_counts = law(counts)
    return lambda a, b: law_at_counts.against(law(move_record(counts, a, b)))
