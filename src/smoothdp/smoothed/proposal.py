"""Where to draw databases whose delta(x) is large: importance sampling with bounded weights.

Let a be the rarest value of the vertex. delta(x) is at most V(H_a), its value where a second
category has only c records, as long as every other category has at least c (composition
notes C(i): delta falls in the two smallest counts). Drawing H_a with probability
proportional to P(H_a) V(H_a) and the others given it,

    E delta(x) = Z E[delta(x) / V(H_a)] + (the part with some other count below c),

where Z = sum of P V is computed, the quotient lies in [0, 1], and the last part is at most the
cap times a binomial tail. So the interval is relative, however small delta is.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from smoothdp.exact.binomial import log_binomial_pmf
from smoothdp.exact.parameters import Real
from smoothdp.exact.tails import log_binomial_tail
from smoothdp.mechanisms.histogram.histograms import HistogramMechanism

FloatArray = NDArray[np.float64]
_LARGEST = 5_000_000
_POINTS = 40
_BESIDE = math.log(1e-4)


@dataclass(frozen=True)
class Proposal:
    """A law of databases, as tables over H_a.

    ``parts``: ln Z, and ln of what lies beside; ``log_cap`` is ln V for every count.
    """

    n_records: int
    place: int
    least_other: int
    others: FloatArray
    cumulative: FloatArray
    log_cap: FloatArray
    parts: tuple[float, float]

    @property
    def method(self) -> str:
        """How the databases were drawn, in words."""
        return (
            f"importance sampling of category {self.place + 1}, others of at least "
            f"{self.least_other} records"
        )

    def draw(self, generator: np.random.Generator) -> tuple[tuple[int, ...], float]:
        """Return a histogram and ln V there; inf if another count is too small."""
        h = int(np.searchsorted(self.cumulative, generator.random() * self.cumulative[-1]))
        h = min(h, self.cumulative.size - 1)
        rest = generator.multinomial(self.n_records - h, self.others)
        scale = math.inf if int(rest.min()) < self.least_other else float(self.log_cap[h])
        histogram = rest.tolist()
        histogram.insert(self.place, h)
        return tuple(histogram), scale


def propose(
    mechanism: HistogramMechanism, vertex: tuple[Fraction, ...], epsilon: Real
) -> Proposal | None:
    """Return a proposal for all records from one vertex, or None where none would help."""
    n = mechanism.n_records
    if len(vertex) < 3 or min(vertex) == 0 or n > _LARGEST:
        return None
    place = vertex.index(min(vertex))
    others = [p for at, p in enumerate(vertex) if at != place]
    mean = float(n * vertex[place])
    top = min(n, math.ceil(mean + 12 * math.sqrt(mean) + 80))
    counts = np.arange(top + 1)
    window = log_binomial_pmf(counts, n, vertex[place])
    target = _BESIDE
    for _ in range(6):
        least = _least_count(n, others, target)
        if least < 2:
            return None
        log_cap = _caps(mechanism, epsilon, least, top)
        terms = window.log_values + window.error + log_cap
        log_total = float(np.logaddexp.reduce(terms)) + 1e-12
        beyond = log_binomial_tail(top + 1, n, vertex[place]).upper + float(log_cap[-1])
        beside = _log_any_below(n, others, least) + mechanism.cap.logs.upper
        beside = float(np.logaddexp(beside, beyond))
        if beside <= log_total + _BESIDE:
            weights = np.cumsum(np.exp(terms - terms.max()))
            chances = np.array([float(p) for p in others])
            return Proposal(
                n, place, least, chances / chances.sum(), weights, log_cap, (log_total, beside)
            )
        target = log_total + _BESIDE - 3.0
    return None


def _least_count(n: int, others: list[Fraction], target: float) -> int:
    """Return the largest c at which some other count is below c with probability e^target."""
    low, high = 0, n
    while high - low > 1:
        middle = (low + high) // 2
        if _log_any_below(n, others, middle) <= target:
            low = middle
        else:
            high = middle
    return low


def _log_any_below(n: int, others: list[Fraction], c: int) -> float:
    """Bound ln of the probability that some other category has fewer than c records."""
    tails = [log_binomial_tail(n - c + 1, n, 1 - p).upper for p in others]
    return float(np.logaddexp.reduce(tails))


def _caps(mechanism: HistogramMechanism, epsilon: Real, least: int, top: int) -> FloatArray:
    """Return ln V(h) for h = 0..top, as steps: V falls, so its value where a step begins."""
    starts = np.unique(np.linspace(0, top, _POINTS).astype(np.int64))
    n = mechanism.n_records
    values = []
    for h in starts.tolist():
        second = min(least, n - h)
        counts = (h, second, n - h - second)
        values.append(mechanism.profile_at(counts).log_delta_bounds(epsilon).upper)
    falling = np.minimum.accumulate(np.array(values))
    steps = np.searchsorted(starts, np.arange(top + 1), side="right") - 1
    return np.asarray(falling[steps])
