"""The errors of other methods with the same promise, assumption and target.

* The exponential mechanism on ranks (the quantiles of OpenDP and diffprivlib): density on [a, b]
  proportional to exp(-lambda |#{x < v} - qn|), lambda = epsilon / 2 (zCDP sqrt(2 rho)). With d_i
  the length of the cell [x_(i), x_(i+1)] its mean square error about theta is

      sum_i e^(-lambda |i - qn|) ((x_(i+1) - theta)^3 - (x_(i) - theta)^3) / 3
      / sum_i e^(-lambda |i - qn|) d_i.

* Laplace noise (zCDP: Gaussian) to the global sensitivity: (b - a) / n for a mean, (b - a) / w
  for the mean of a window of w values, b - a for one order statistic.
* The middle of the bounds, which reads no data.

Values are clamped to the bounds, as the value of a plan is. No method pays for error bars.

Source: proofs/release-rules#4, #5.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from smoothdp.claims.terms import RhoTerms
from smoothdp.mechanisms.release.defaults import Rule, global_law
from smoothdp.planning.candidates import plain
from smoothdp.planning.expected.clamped_error import Samples, clamped_error
from smoothdp.planning.expected.sampling_error import SamplingError
from smoothdp.planning.expected.simulated_samples import order_statistics
from smoothdp.planning.plan_request import PlanRequest
from smoothdp.queries import Mean, Median, Quantile, Query, TrimmedMean
from smoothdp.types import FloatArray, IntArray

NO_DATA = "the middle of the bounds, without data"
_SAMPLES = 200
_REACH, _LEAST, _MOST = 40.0, 4, 3000
_GROWTH = 1.1


@dataclass(frozen=True, slots=True)
class Rival:
    """Another way to the same target under the same guarantee.

    Attributes:
        name: the method in words.
        error: its root mean square error, values clamped to the bounds: for a median or quantile
            against the plain statistic of the records, as `Plan.privacy_rmse`; else against the
            population's mean, as `Plan.rmse`.

    >>> Rival("the middle of the bounds, without data", 3.0).error
    3.0
    """

    name: str
    error: float


def rivals(request: PlanRequest, query: Query, error: SamplingError) -> tuple[Rival, ...]:
    """Return what a plan is compared with, the least error first.

    Args:
        request: what the plan was made for. query: its statistic, the window resolved.
        error: of the windows of that statistic.
    """
    guarantee, n_records, assumption = request.guarantee, request.n_records, request.assumption
    low, high = bounds = request.bounds
    is_concentrated = isinstance(guarantee.terms(), RhoTerms)
    law = global_law(guarantee)
    kind = type(law).__name__
    e, middle, others = Rule.of(guarantee).epsilon, (low + high) / 2, []

    def noisy(drops: tuple[int, int], values: FloatArray, targets: FloatArray) -> float:
        moved = (high - low) / (n_records - sum(drops))
        samples = Samples(values, np.full_like(values, moved), targets, bounds)
        without = 0.0 if error.is_quantile else error.total(drops)
        noise = moved * law.standard_deviation / e
        return clamped_error(without, noise, samples, law, 1 / e)[0]

    if isinstance(query, Median | Quantile):
        level = Fraction(1, 2) if isinstance(query, Median) else query.q
        drops = plain(query).drops(n_records)
        ranks = _ranks(level, n_records, _slope(e, is_concentrated))
        values = np.clip(
            order_statistics(assumption, n_records, ranks, n_samples=_SAMPLES), *bounds
        )
        window = (ranks > drops[0]) & (ranks <= n_records - drops[1])
        targets = values[:, window].mean(axis=1)
        if 0 < level < 1:
            squares = _exponential(
                values, ranks, targets, bounds, float(level * n_records), _slope(e, is_concentrated)
            )
            others.append(
                Rival("the exponential mechanism on ranks", math.sqrt(float(squares.mean())))
            )
        others.append(
            Rival(
                f"{kind} noise to global sensitivity, on the plain statistic",
                noisy(drops, targets, targets),
            )
        )
        away = float(np.sqrt(np.mean((targets - middle) ** 2)))
    else:
        drops = query.drops(n_records)
        near = np.full(1, min(max(error.target, low), high))
        if isinstance(query, Mean | TrimmedMean) and drops != (0, 0):
            words = f"{kind} noise to global sensitivity, on the mean of all values"
            others.append(Rival(words, noisy((0, 0), near, near)))
        words = f"{kind} noise to global sensitivity, on the same statistic"
        others.append(Rival(words, noisy(drops, near, near)))
        away = abs(error.target - middle)
    others.append(Rival(NO_DATA, away))
    return tuple(sorted(others, key=lambda rival: rival.error))


def _slope(e: float, is_concentrated: bool) -> float:
    """Return lambda; of approximate DP that of pure DP at the same epsilon."""
    return e if is_concentrated else e / 2


def _ranks(level: Fraction, n_records: int, slope: float) -> IntArray:
    """Return 1, n, and all ranks around qn but those that hardly count, which get sparser."""
    middle = math.floor(level * n_records)
    dense = max(_LEAST, math.ceil(_REACH / slope)) if slope > _REACH / _MOST else _MOST
    away, at = [], float(dense)
    while at < n_records:
        away.append(round(at))
        at *= _GROWTH
    near = np.arange(-min(dense, n_records), min(dense, n_records) + 2, dtype=np.int64)
    far = np.array(away, dtype=np.int64)
    ranks = np.concatenate([near, far, -far]) + middle
    ranks = np.concatenate([ranks, np.array([1, n_records], dtype=np.int64)])
    return np.unique(ranks[(ranks >= 1) & (ranks <= n_records)])


def _exponential(
    values: FloatArray,
    ranks: IntArray,
    targets: FloatArray,
    bounds: tuple[float, float],
    middle: float,
    slope: float,
) -> FloatArray:
    """Return the mean square error of the exponential mechanism about a target, by sample.

    A run of cells between two ranks has their mean weight, and its length.
    """
    n_samples = len(values)
    ends = [np.full((n_samples, 1), bound) for bound in bounds]
    knots = np.concatenate([ends[0], values, ends[1]], axis=1)
    # The cells of a run are those from its first rank to the one before the next.
    first = np.concatenate([[0], ranks]).astype(np.float64)
    last = np.concatenate([ranks - 1, [ranks[-1]]]).astype(np.float64)
    nearest = np.where(
        (first <= middle) & (middle <= last),
        0.0,
        np.minimum(np.abs(first - middle), np.abs(last - middle)),
    )
    count = last - first + 1
    with np.errstate(divide="ignore"):
        mean = np.log(-np.expm1(-slope * count) / (count * -np.expm1(-slope)))
        lengths = np.log(np.diff(knots, axis=1))
    logs = np.where(count == 1, -slope * np.abs(first - middle), -slope * nearest + mean) + lengths
    weights = np.exp(logs - logs.max(axis=1, keepdims=True))
    away = knots - targets[:, None]
    below, above = away[:, :-1], away[:, 1:]
    squares = (below * below + below * above + above * above) / 3
    return np.asarray((weights * squares).sum(axis=1) / weights.sum(axis=1))
