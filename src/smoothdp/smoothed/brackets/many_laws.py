"""Smoothed delta over several distributions: every mixture from above, one law from below.

With q the least probability that a distribution gives each category, a record of any of them is
in category c with a probability of at least q_c. Leaving records uncounted lowers counts, and delta
falls in the two smallest: so the bound for the law q holds for every composition
(proofs/smoothed-brackets#5). Where it is far above, cells of compositions close the gap (#8), or
hulls of pairs (#10).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from smoothdp.exact.logspace.bounds import LogBounds
from smoothdp.exact.parameters.numbers import Real
from smoothdp.mechanisms.histogram.histogram_mechanism import HistogramMechanism
from smoothdp.smoothed.brackets.composition_cells import CompositionCell, mixed_law
from smoothdp.smoothed.brackets.mixtures import MOST_DIVERGENCES, Mixtures
from smoothdp.smoothed.brackets.one_law import OneLaw
from smoothdp.smoothed.brackets.pair_hulls import PairHulls
from smoothdp.smoothed.brackets.shares import shares_of
from smoothdp.smoothed.brackets.two_counts import TwoCounts

Vertex = tuple[Fraction, ...]
_CANDIDATES = 3
_ROUGH = 2.5
_FEW = 4
_LOOKS = 4
_MOST_CELLS = 80
_MOST_RECORDS = 10**13
_LEAST = Fraction(1, 10**100)


@dataclass
class Below:
    """The largest expectation of one law known so far, and about how many records of each kind.

    A law inside the hull, taken for all records, is a mean over compositions: some composition has
    at least that expectation (proofs/smoothed-brackets#11).
    """

    lower: float = -math.inf
    composition: tuple[int, ...] = ()
    law: OneLaw | None = None

    def take(
        self, values: TwoCounts, law: OneLaw, composition: tuple[int, ...], tolerance: float
    ) -> None:
        """Keep a law if its expectation is larger; it is left as soon as it is not."""
        best = None if self.law is None else self.lower
        lower = law.bracket(values, tolerance=tolerance, log_target=best).lower
        if self.law is None or lower > self.lower:
            self.lower, self.composition, self.law = lower, composition, law

    def closer(self, values: TwoCounts, tolerance: float) -> None:
        """Refine the bound of the law that is kept."""
        if self.law is not None:
            self.lower = max(self.lower, self.law.bracket(values, tolerance=tolerance).lower)


@dataclass
class ManyLaws:
    """The distributions of a model, with what is kept between mechanisms and epsilons.

    Args:
        n_records: n; vertices: probability vectors of at least three categories, all positive.
    """

    n_records: int
    vertices: tuple[Vertex, ...]
    _laws: dict[int | None, OneLaw] = field(default_factory=dict)

    @property
    def n_categories(self) -> int:
        return len(self.vertices[0])

    @property
    def within_reach(self) -> bool:
        """Whether divergences of pairs take milliseconds, and probabilities are floats."""
        least = min(min(vertex) for vertex in self.vertices)
        return self.n_records <= _MOST_RECORDS and least >= _LEAST

    @property
    def method(self) -> str:
        """How the upper bound was found, in words."""
        cells = "the two smallest counts, by cells"
        if len(self.vertices) == 1:
            return f"one distribution: {cells}"
        return f"proved upper bound over every mixture: {cells}"

    def bracket(
        self,
        mechanism: HistogramMechanism,
        epsilon: Real,
        *,
        tolerance: float,
        log_target: float | None = None,
    ) -> tuple[LogBounds, tuple[int, ...]]:
        """Bound ln of the largest expectation over compositions; from below near which of them.

        It stops where the ends are within ``tolerance``, or on one side of ``log_target``.
        """
        values = TwoCounts(mechanism, epsilon)
        if len(self.vertices) == 1:
            law = self._law(0, self.vertices[0])
            logs = law.bracket(values, tolerance=tolerance, log_target=log_target)
            return logs, (self.n_records,)
        floors = [min(chances) for chances in zip(*self.vertices, strict=True)]
        above = self._law(None, floors)
        upper = above.bracket(values, tolerance=_ROUGH, log_target=log_target).upper
        if log_target is not None and upper <= log_target:
            return LogBounds(-math.inf, upper), self._alone(0)
        found = self._below(values, tolerance, upper)

        def goal() -> float:
            if log_target is None:
                return found.lower + tolerance
            # Decided, or met.
            return math.inf if found.lower > log_target else max(found.lower, log_target)

        if goal() < upper <= goal() + _ROUGH:
            upper = above.bracket(values, tolerance=tolerance / 2, log_target=log_target).upper
        if upper > goal():
            upper = min(upper, self._mixed(values, found, upper, goal, tolerance))
        return LogBounds(found.lower, max(found.lower, upper)), found.composition

    def _mixed(
        self,
        values: TwoCounts,
        found: Below,
        upper: float,
        goal: Callable[[], float],
        tolerance: float,
    ) -> float:
        """Bound every mixture more closely: by cells of compositions, or pair by pair."""
        if len(self.vertices) > _FEW:
            hulls = PairHulls(self.n_records, self.vertices)
            if not hulls.within_reach:
                return upper
            return hulls.upper(values, goal=goal(), tolerance=tolerance / 2)
        mixtures = Mixtures(self.n_records, self.vertices, values, upper)
        looked = 0
        while mixtures.upper > goal() and mixtures.can_improve:
            if max(values.n_evaluations / MOST_DIVERGENCES, mixtures.n_cells / _MOST_CELLS) > 1:
                break
            cell = mixtures.worst
            if cell.size <= self.n_records // 2 and looked < _LOOKS:
                # The largest expectation may be inside.
                looked += 1
                found.take(values, self._mixture(cell.centre), cell.centre, tolerance / 2)
            mixtures.split(target=goal(), tolerance=tolerance / 2)
        return mixtures.upper

    def _mixture(self, composition: Sequence[int]) -> OneLaw:
        """Return the law of records that choose a distribution each, so often in the mean."""
        shares = [Fraction(k, self.n_records) for k in composition]
        return OneLaw(self.n_records, shares_of(mixed_law(self.vertices, shares)))

    def _below(self, values: TwoCounts, tolerance: float, upper: float) -> Below:
        """Return the largest expectation known: of a few vertices, and of their even mixture."""
        order = sorted(range(len(self.vertices)), key=lambda v: sorted(self.vertices[v])[:2])
        found = Below()
        for v in order[:_CANDIDATES]:
            # It is left as soon as it is known not to be the worst.
            found.take(values, self._law(v, self.vertices[v]), self._alone(v), _ROUGH)
        even = CompositionCell(self.n_records, (0,) * len(self.vertices)).centre
        found.take(values, self._mixture(even), even, _ROUGH)
        if upper - found.lower > tolerance and found.law is not None:
            found.closer(values, tolerance / 2)
        return found

    def _alone(self, v: int) -> tuple[int, ...]:
        return tuple(self.n_records if v == place else 0 for place in range(len(self.vertices)))

    def _law(self, key: int | None, chances: Sequence[Fraction]) -> OneLaw:
        if key not in self._laws:
            self._laws[key] = OneLaw(self.n_records, shares_of(chances))
        return self._laws[key]
