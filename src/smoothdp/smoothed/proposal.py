"""Where to draw databases whose delta(x) is large: importance sampling with bounded weights.

Let a be the rarest value of the vertex, and every other category have at least c records.
delta falls in both of the two smallest counts (proofs/two-smallest#5), which are at least
min(H_a, c) and c, so delta(x) <= V(H_a) = D(min(H_a, c), c). Drawing H_a with probability
proportional to P(H_a) V(H_a) and the others given it,

    E delta(x) = Z E[delta(x) / V(H_a)] + (the part with some other count below c),

where Z = sum of P V is computed, the quotient lies in [0, 1], and the last part is at most the
cap times a binomial tail. So the interval is relative, however small delta is
(proofs/smoothed-delta#12).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from smoothdp.exact.parameters.numbers import Real
from smoothdp.mechanisms.histogram.histogram_mechanism import HistogramMechanism
from smoothdp.smoothed.many_values.falling_steps import (
    falling_steps,
    least_count,
    log_any_below,
    two_smallest,
)
from smoothdp.types import FloatArray

_LARGEST = 5_000_000
_BESIDE = math.log(1e-4)


@dataclass(frozen=True)
class Proposal:
    """A law of databases, as tables over H_a.

    ``log_shares``: ln Z, and ln of the part with some other count too small; ``log_cap`` is ln V
    for every count of the category ``rarest``.
    """

    n_records: int
    rarest: int
    least_other: int
    others: FloatArray
    cumulative: FloatArray
    log_cap: FloatArray
    log_shares: tuple[float, float]

    @property
    def method(self) -> str:
        """How the databases were drawn, in words."""
        return (
            f"importance sampling of category {self.rarest + 1}, others of at least "
            f"{self.least_other} records"
        )

    def draw(self, generator: np.random.Generator) -> tuple[tuple[int, ...], float]:
        """Return a histogram and ln V there; inf if another count is too small."""
        h = int(np.searchsorted(self.cumulative, generator.random() * self.cumulative[-1]))
        h = min(h, self.cumulative.size - 1)
        other_counts = generator.multinomial(self.n_records - h, self.others)
        scale = math.inf if int(other_counts.min()) < self.least_other else float(self.log_cap[h])
        histogram = other_counts.tolist()
        histogram.insert(self.rarest, h)
        return tuple(histogram), scale


def propose(
    mechanism: HistogramMechanism, vertex: tuple[Fraction, ...], epsilon: Real
) -> Proposal | None:
    """Return a proposal for all records from one vertex, or None where none would help."""
    n = mechanism.n_records
    if len(vertex) < 3 or min(vertex) == 0 or n > _LARGEST:
        return None
    rarest = vertex.index(min(vertex))
    others = [p for category, p in enumerate(vertex) if category != rarest]
    value = two_smallest(mechanism, epsilon)
    target = _BESIDE
    for _ in range(6):
        least = least_count(n, others, target)
        if least < 2:
            return None

        def log_cap(h: int, least: int = least) -> float:
            return value(min(h, least), least)

        steps = falling_steps(log_cap, n, vertex[rarest])
        beside = log_any_below(n, others, least) + mechanism.cap.logs.upper
        beside = float(np.logaddexp(beside, steps.log_beyond))
        if beside <= steps.log_total + _BESIDE:
            terms = steps.log_mass + steps.log_values
            weights = np.cumsum(np.exp(terms - terms.max()))
            chances = np.array([float(p) for p in others])
            return Proposal(
                n,
                rarest,
                least,
                chances / chances.sum(),
                weights,
                steps.log_values,
                (steps.log_total, beside),
            )
        target = steps.log_total + _BESIDE - 3.0
    return None
