"""Mechanisms whose outputs are few enough to list: exact privacy over all neighbours."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from smoothdp.claims.curves.atoms import Atoms
from smoothdp.claims.curves.profile import PrivacyProfile
from smoothdp.claims.neighbours import Neighbours
from smoothdp.exact.logspace.bounds import LogBounds
from smoothdp.exact.logspace.log_sums import largest
from smoothdp.exact.parameters.numbers import Real
from smoothdp.mechanisms.sampling.sampled import SampledMechanism, Value
from smoothdp.types import FloatArray


class OutputLaw(NamedTuple):
    """ln of the probability of every output, and an absolute bound of their error.

    The outputs are listed in one order, the same for all counts over the same universe;
    -inf where an output is impossible.
    """

    log_values: FloatArray
    error: float

    def against(self, other: OutputLaw) -> Atoms:
        """Return this law and another over the same outputs, as the atoms of a hockey stick."""
        return Atoms(self.log_values, other.log_values, max(self.error, other.error))


class FiniteLawMechanism(SampledMechanism[Value]):
    """A sampled mechanism that can list the law of its output at any counts."""

    @abstractmethod
    def output_law(self, counts: tuple[int, ...]) -> OutputLaw:
        """Return the law of the output at validated counts."""

    def profile_at(self, counts: tuple[int, ...]) -> PrivacyProfile:
        return FiniteLawProfile(self, counts)


@dataclass(frozen=True)
class FiniteLawProfile(PrivacyProfile):
    """delta_epsilon(x) of a finite mechanism at one database: every neighbour, both ways.

    The rule of the two smallest counts (proofs/two-smallest#4) needs the histogram itself; the
    rule fails for functions of it and for noise (#9), so all ordered pairs of categories are
    taken (proofs/noisy-histograms#2).
    """

    mechanism: FiniteLawMechanism[Any]
    counts: tuple[int, ...]

    @property
    def neighbours(self) -> Neighbours:
        return Neighbours.REPLACE_ONE

    @cached_property
    def pairs(self) -> tuple[Atoms, ...]:
        """The laws of the output at the counts and at each neighbour."""
        law_at_counts = self._law(self.counts)
        return tuple(law_at_counts.against(self._law(counts)) for counts in replaced(self.counts))

    def _law(self, counts: tuple[int, ...]) -> OutputLaw:
        return self.mechanism.output_law(counts)

    def log_delta_bounds(self, epsilon: Real) -> LogBounds:
        """Bound ln delta_epsilon(x): the largest over the neighbours and both directions."""
        cap = self.mechanism.cap.logs
        worst = largest([atoms.log_excess(epsilon) for atoms in both_ways(self.pairs)])
        return LogBounds(min(worst.lower, cap.upper), min(worst.upper, cap.upper))


def both_ways(pairs: Iterable[Atoms]) -> Iterator[Atoms]:
    """Yield each pair of laws, and the same pair the other way round."""
    for pair in pairs:
        yield pair
        yield Atoms(pair.log_q, pair.log_p, pair.error)


def replaced(counts: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """Yield the counts of every database with one record replaced by another category.

    >>> list(replaced((2, 0)))
    [(1, 1)]
    """
    for a, count in enumerate(counts):
        if count:
            yield from (move_record(counts, a, b) for b in range(len(counts)) if b != a)


def move_record(counts: tuple[int, ...], a: int, b: int) -> tuple[int, ...]:
    """Return the counts after one record went from category a to category b.

    >>> move_record((2, 0), 0, 1)
    (1, 1)
    """
    moved = list(counts)
    moved[a] -= 1
    moved[b] += 1
    return tuple(moved)
