"""Smoothed delta of one step of SGD with quantised gradients, by seeded databases.

What Figure 2 (right) and Figure 5 of paper 1 share. Delta at each database is exact, over all
neighbours; its mean is over databases with all gradients from one law, for the law with the larger
mean. Mixtures of the laws are not looked at. The paper does not state epsilon; 2 is used.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np

from smoothdp.claims.domains import read_epsilon
from smoothdp.claims.model.model import DataModel
from smoothdp.mechanisms import SamplingAverage
from smoothdp.papers.reproduction import Progress
from smoothdp.papers.runner import run_cells
from smoothdp.papers.smoothed_dp.mean_intervals import proved_interval, usual_interval
from smoothdp.types import FloatArray

EPSILON = 2
LEVELS = 256
ALPHA = 0.01
"""The proved intervals of all laws at one n are right together with probability 99%."""

Law = tuple[str, str, str]
"""("normal" or "laplace", its mean, its standard deviation)."""

Cell = tuple[Law, int, int]
"""A law, n, and the number of a batch of databases."""

_BATCH = 25


@dataclass(frozen=True, slots=True)
class GradientRow:
    """One number of records; natural logarithms.

    Attributes:
        n_records, n_draws: n and the batch T = floor(sqrt n).
        law: the position of the law with the larger mean.
        n_databases: of each law.
        log_estimate: of the mean of delta(x).
        log_lower, log_upper: of an interval that holds with probability 99% however delta is
            spread.
        log_usual_lower, log_usual_upper: of the usual 99% interval, where the mean is taken as
            normal.
    """

    n_records: int
    n_draws: int
    law: int
    n_databases: int
    log_estimate: float
    log_lower: float
    log_upper: float
    log_usual_lower: float
    log_usual_upper: float

    @property
    def ordinary_dp(self) -> float:
        """delta of ordinary DP: T / n, at every finite epsilon."""
        return self.n_draws / self.n_records


def gradient_rows(
    name: str,
    settings: Sequence[tuple[Law, ...]],
    sizes: Sequence[int],
    *,
    n_databases: int,
    store: Path | None,
    progress: Progress | None,
) -> list[list[GradientRow]]:
    """Return the rows of each setting, by n, from so many databases of each law (of 25 each)."""
    batches = range(n_databases // _BATCH)
    places = [(law, n) for laws in settings for n in sizes for law in laws]
    cells = [(law, n, number) for law, n in places for number in batches]
    found = run_cells(name, cells, databases, store=store, progress=progress)
    known = dict(zip(cells, found, strict=True))
    shares = {
        (law, n): np.concatenate([known[law, n, number] for number in batches]) for law, n in places
    }
    return [[_row(laws, n, [shares[law, n] for law in laws]) for n in sizes] for laws in settings]


def databases(cell: Cell) -> list[tuple[float, float]]:
    """Return bounds of delta(x) n / T, a share of ordinary DP's, for a batch of databases."""
    (family, mean, std), n, number = cell
    quantized = {"normal": DataModel.quantized_normal, "laplace": DataModel.quantized_laplace}
    (vertex,) = quantized[family]([mean], std=std, bits=8).vertices
    mechanism = SamplingAverage(n, n_draws=math.isqrt(n), universe=range(LEVELS))
    generator = np.random.default_rng([number, n, *f"{family} {mean} {std}".encode()])
    chances, epsilon = [float(p) for p in vertex], read_epsilon(EPSILON)
    log_share = math.log(Fraction(mechanism.n_draws, n))
    bounds = []
    for counts in generator.multinomial(n, chances, size=_BATCH):
        found = mechanism.profile_at(tuple(counts.tolist())).log_delta_bounds(epsilon)
        bounds.append(tuple(min(1.0, math.exp(log - log_share)) for log in found))
    return bounds  # type: ignore[return-value]


def _row(laws: Sequence[Law], n: int, shares: Sequence[FloatArray]) -> GradientRow:
    """Return the row of one setting and n; each of ``shares`` has the bounds of one law."""
    ends = [proved_interval(each[:, 0], each[:, 1], alpha=ALPHA / len(laws)) for each in shares]
    means = [float(each[:, 1].mean()) for each in shares]
    law, draws = means.index(max(means)), math.isqrt(n)
    values = (
        means[law],
        max(interval.lower for interval in ends),
        max(interval.upper for interval in ends),
        *usual_interval(shares[law][:, 1]),
    )
    logs = (math.log(value * draws / n) if value > 0 else -math.inf for value in values)
    return GradientRow(n, draws, law, len(shares[law]), *logs)
