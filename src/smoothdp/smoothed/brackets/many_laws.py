"""Smoothed delta over several distributions: every mixture from above, one distribution from below.

With q the least probability that a distribution gives each category, a record of any of them is
in category c with a probability of at least q_c. Leaving records uncounted lowers counts, and delta
falls in the two smallest: so the bound for the law q holds for every composition
(proofs/smoothed-brackets#5).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from smoothdp.exact.logspace.bounds import LogBounds
from smoothdp.exact.parameters.numbers import Real
from smoothdp.mechanisms.histogram.histogram_mechanism import HistogramMechanism
from smoothdp.smoothed.brackets.one_law import OneLaw
from smoothdp.smoothed.brackets.shares import shares_of
from smoothdp.smoothed.brackets.two_counts import TwoCounts

Vertex = tuple[Fraction, ...]
_CANDIDATES = 3
_ROUGH = 2.5
_MOST_RECORDS = 10**13
_LEAST = Fraction(1, 10**100)


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
        return f"proved upper bound over every mixture: {cells}, of the least share of each value"

    def bracket(
        self,
        mechanism: HistogramMechanism,
        epsilon: Real,
        *,
        tolerance: float,
        log_target: float | None = None,
    ) -> tuple[LogBounds, int]:
        """Bound ln of the largest expectation over compositions; from below at which vertex.

        It stops where the ends are within ``tolerance``, or on one side of ``log_target``.
        """
        values = TwoCounts(mechanism, epsilon)
        if len(self.vertices) == 1:
            law = self._law(0, self.vertices[0])
            return law.bracket(values, tolerance=tolerance, log_target=log_target), 0
        floors = [min(chances) for chances in zip(*self.vertices, strict=True)]
        above = self._law(None, floors)
        upper = above.bracket(values, tolerance=tolerance / 2, log_target=log_target).upper
        if log_target is not None and upper <= log_target:
            return LogBounds(-math.inf, upper), 0
        worst, lower = self._below(values, tolerance, upper)
        return LogBounds(lower, max(lower, upper)), worst

    def _below(self, values: TwoCounts, tolerance: float, upper: float) -> tuple[int, float]:
        """Return the vertex with the largest expectation among a few, with its lower bound."""
        order = sorted(range(len(self.vertices)), key=lambda v: sorted(self.vertices[v])[:2])
        found: dict[int, float] = {}
        for v in order[:_CANDIDATES]:
            # It is left as soon as it is known not to be the worst.
            best = max(found.values(), default=None)
            law = self._law(v, self.vertices[v])
            found[v] = law.bracket(values, tolerance=_ROUGH, log_target=best).lower
        worst = max(found, key=lambda v: found[v])
        if upper - found[worst] > tolerance:
            law = self._law(worst, self.vertices[worst])
            enough = upper - tolerance
            closer = law.bracket(values, tolerance=tolerance / 2, log_target=enough)
            found[worst] = max(found[worst], closer.lower)
        return worst, found[worst]

    def _law(self, key: int | None, chances: Sequence[Fraction]) -> OneLaw:
        if key not in self._laws:
            self._laws[key] = OneLaw(self.n_records, shares_of(chances))
        return self._laws[key]
