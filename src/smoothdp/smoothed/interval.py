"""Smoothed delta by sampled databases: an estimate with a confidence interval.

Where exact work is out of reach, databases are drawn from the model and the exact delta(x)
of each is averaged. Intervals are by the empirical Bernstein inequality (Maurer, Pontil
2009, Theorem 4), which holds for any number of databases. They are no guarantee.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from smoothdp.claims.domains import read_epsilon, read_inner_probability
from smoothdp.claims.model.model import DataModel
from smoothdp.errors import InvalidParameter
from smoothdp.exact.logspace.bounds import LogBounds
from smoothdp.exact.parameters.numbers import Parameter, Real, exact_int
from smoothdp.exact.random.entropy import Entropy, read_rng
from smoothdp.mechanisms.histogram.histogram_mechanism import HistogramMechanism
from smoothdp.mechanisms.sampling.counts import read_counts
from smoothdp.mechanisms.sampling.sampled import SampledMechanism
from smoothdp.smoothed.proposal import Proposal, propose
from smoothdp.types import FloatArray

Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class DeltaInterval:
    """What sampled databases say about smoothed delta; natural logarithms.

    Attributes:
        log_estimate: ln of the mean of delta(x).
        log_lower, log_upper: ln of the ends of the interval; -inf if it begins at 0.
        confidence: the probability, before sampling, that the intervals of all compositions
            looked at hold.
        n_databases: databases drawn for each composition.
        vertex_counts: the composition with the largest estimate.
        n_compositions: how many were looked at: the interval is about the largest of them.
        method: how the databases were drawn.

    >>> from smoothdp.mechanisms import SamplingHistogram
    >>> mechanism, model = SamplingHistogram(20, n_draws=10), DataModel([("0.3", "0.7")])
    >>> interval = smoothed_delta_interval(mechanism, model, epsilon=1, n_databases=10)
    >>> interval.lower <= interval.estimate <= interval.upper
    True
    """

    log_estimate: float
    log_lower: float
    log_upper: float
    confidence: Fraction
    n_databases: int
    vertex_counts: tuple[int, ...]
    n_compositions: int
    method: str

    @property
    def estimate(self) -> float:
        """The mean of delta(x) as a float."""
        return math.exp(self.log_estimate)

    @property
    def lower(self) -> float:
        """The lower end as a float."""
        return math.exp(self.log_lower)

    @property
    def upper(self) -> float:
        """The upper end as a float."""
        return math.exp(self.log_upper)


class _Means(NamedTuple):
    log_estimate: float
    log_lower: float
    log_upper: float


def smoothed_delta_interval(
    mechanism: SampledMechanism[Any],
    model: DataModel,
    *,
    epsilon: Parameter,
    n_databases: int = 1000,
    confidence: Parameter = "0.99",
    compositions: Sequence[Sequence[int]] | None = None,
    rng: Entropy | None = None,
    progress: Progress | None = None,
) -> DeltaInterval:
    """Estimate E delta_epsilon(x) for databases of the model, with an interval.

    For histograms of three or more categories, all records from one vertex, the databases
    are drawn where delta(x) is large (importance sampling with a proved bound of every
    weight), so that tiny values come out as sharply as large ones.

    Args:
        mechanism: a sampled mechanism over the atoms of the model.
        model: the set of distributions.
        epsilon: >= 0.
        n_databases: databases drawn for each composition, at least 2.
        confidence: in (0, 1), of all compositions together.
        compositions: records per vertex of ``model.hull()``, each adding up to n_records;
            default: all records from one vertex, for each vertex. The interval says nothing
            about other compositions, whose delta may be larger.
        rng: `SystemRandom()` (default), or `SeededRandom` for reproducible figures.
        progress: called with (databases done, databases in all).

    Raises:
        InvalidParameter, InvalidData: arguments outside these domains.

    >>> from smoothdp.exact.random.entropy import SeededRandom
    >>> from smoothdp.mechanisms import SamplingHistogram
    >>> from smoothdp.smoothed.largest_expectation import smoothed_delta
    >>> mechanism, model = SamplingHistogram(40, n_draws=20), DataModel([("0.3", "0.7")])
    >>> result = smoothed_delta_interval(mechanism, model, epsilon=1, rng=SeededRandom(1))
    >>> result.lower <= smoothed_delta(mechanism, model, epsilon=1).delta <= result.upper
    True
    """
    exact = read_epsilon(epsilon)
    count = exact_int(n_databases, name="n_databases", minimum=2)
    level = read_inner_probability(confidence, name="confidence", example="0.99")
    hull = model.hull()
    chosen = _compositions(compositions, mechanism.n_records, hull.n_vertices)
    bits = read_rng(rng).bits(128)
    generator = np.random.default_rng(bits)
    alpha = float(1 - level) / len(chosen)
    question = _Question(mechanism, hull.vertices, exact, count, alpha)
    total = count * len(chosen)
    best: tuple[_Means, tuple[int, ...], str] | None = None
    highest = -math.inf
    for position, composition in enumerate(chosen):
        step = None
        if progress is not None:
            step = _Step(progress, position * count, total)
        means, method = question.estimate(composition, generator, step)
        highest = max(highest, means.log_upper)
        if best is None or means.log_estimate > best[0].log_estimate:
            best = (means, composition, method)
    assert best is not None
    means, composition, method = best
    return DeltaInterval(
        log_estimate=means.log_estimate,
        log_lower=means.log_lower,
        log_upper=highest,
        confidence=level,
        n_databases=count,
        vertex_counts=composition,
        n_compositions=len(chosen),
        method=method,
    )


@dataclass(frozen=True, slots=True)
class _Step:
    """Progress of one composition among all."""

    report: Progress
    before: int
    total: int

    def __call__(self, done: int) -> None:
        self.report(self.before + done, self.total)


def _compositions(
    compositions: Sequence[Sequence[int]] | None, n: int, n_vertices: int
) -> list[tuple[int, ...]]:
    if compositions is None:
        return [
            tuple(n * (other == vertex) for other in range(n_vertices))
            for vertex in range(n_vertices)
        ]
    if not compositions:
        raise InvalidParameter(
            expected="at least one composition",
            got="none",
            remedy="Leave compositions= out, for all records from one vertex",
        )
    chosen = []
    for composition in compositions:
        if n_vertices == 1 and len(composition) == 1:
            counts = tuple(int(count) for count in composition)
        else:
            counts = read_counts(composition, total=n, name="composition")
        if len(counts) != n_vertices or sum(counts) != n:
            raise InvalidParameter(
                expected=f"compositions of {n} records over {n_vertices} vertices",
                got=f"{counts}",
                remedy="Give a number of records for each of model.hull().vertices",
            )
        chosen.append(counts)
    return chosen


@dataclass(frozen=True, slots=True)
class _Question:
    """What is asked of every composition; alpha is the failure probability of each."""

    mechanism: SampledMechanism[Any]
    vertices: tuple[tuple[Fraction, ...], ...]
    epsilon: Real
    n_databases: int
    alpha: float

    def estimate(
        self,
        composition: tuple[int, ...],
        generator: np.random.Generator,
        step: _Step | None,
    ) -> tuple[_Means, str]:
        """Return the mean of delta over databases of one composition, and how they were drawn."""
        mechanism = self.mechanism
        proposal: Proposal | None = None
        if isinstance(mechanism, HistogramMechanism) and max(composition) == mechanism.n_records:
            vertex = self.vertices[composition.index(mechanism.n_records)]
            proposal = propose(mechanism, vertex, self.epsilon)
        chances = [np.array([float(p) for p in vertex]) for vertex in self.vertices]
        known: dict[tuple[int, ...], LogBounds] = {}
        low, high = np.zeros(self.n_databases), np.zeros(self.n_databases)
        cap = mechanism.cap.logs.upper
        for draw in range(self.n_databases):
            if proposal is None:
                counts = sum(
                    generator.multinomial(count, chance)
                    for count, chance in zip(composition, chances, strict=True)
                )
                histogram, scale = tuple(np.asarray(counts).tolist()), cap
            else:
                histogram, scale = proposal.draw(generator)
            key = histogram
            if isinstance(mechanism, HistogramMechanism):
                key = tuple(sorted(histogram)[:2])
            if key not in known:
                known[key] = mechanism.profile_at(histogram).log_delta_bounds(self.epsilon)
            if math.isfinite(scale):
                low[draw] = math.exp(min(0.0, known[key].lower - scale))
                high[draw] = math.exp(min(0.0, known[key].upper - scale))
            if step is not None:
                step(draw + 1)
        log_scale, log_beside = (cap, -math.inf) if proposal is None else proposal.log_shares
        method = "databases of the model" if proposal is None else proposal.method
        below, above = _interval(low, self.alpha)[0], _interval(high, self.alpha)[1]
        mean = float(high.mean())
        return (
            _Means(
                log_scale + _log(mean),
                log_scale + _log(below),
                min(cap, _raised(float(np.logaddexp(log_scale + _log(above), log_beside)))),
            ),
            method,
        )


def _raised(log_value: float) -> float:
    """Return a logarithm, moved by what sums of logarithms of its size may round."""
    return log_value + 1e-12 + 1e-15 * abs(log_value) if log_value > -math.inf else log_value


def _interval(values: FloatArray, alpha: float) -> tuple[float, float]:
    """Return the empirical Bernstein interval of the mean of values in [0, 1]."""
    n = values.size
    level = math.log(4 / alpha)
    reach = math.sqrt(2 * float(values.var(ddof=1)) * level / n) + 7 * level / (3 * (n - 1))
    mean = float(values.mean())
    return max(0.0, mean - reach), min(1.0, mean + reach)


def _log(value: float) -> float:
    return math.log(value) if value > 0 else -math.inf
