"""The other ways to a statistic with the same promise, with the errors to expect of each.

* The exponential mechanism on ranks, for quantiles (`smoothdp.mechanisms.ExponentialQuantile`):
  density on [a, b] proportional to exp(-lambda |#{x < v} - qn|). With d_i the length of the cell
  [x_(i), x_(i+1)] its mean square error about theta is

      sum_i e^(-lambda |i - qn|) ((x_(i+1) - theta)^3 - (x_(i) - theta)^3) / 3
      / sum_i e^(-lambda |i - qn|) d_i.

* A half shift (`smoothdp.mechanisms.HalfShift`), where `release` takes it without a plan.
* Laplace noise (concentrated claims: Gaussian) to the sensitivity at all data: (b - a) / w for the
  mean of a window of w values, of which the best is taken, and (b - a) / n for the mean of all
  values in the place of a quantile, if something is assumed of the data.
* The middle of the bounds, which reads no data; only where something is assumed of them.

Values are clamped to the bounds, as the value of a plan is. None of these has error bars.

Source: proofs/release-rules#4, #5.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from smoothdp.claims.terms import MuTerms
from smoothdp.errors import SmoothdpError
from smoothdp.exact.parameters.numbers import float_of
from smoothdp.mechanisms.quantiles.chosen import shifts_by_default
from smoothdp.mechanisms.quantiles.exponential.slope import slope_of
from smoothdp.mechanisms.quantiles.half_shift.half_shift import HalfShift
from smoothdp.mechanisms.release.defaults import Rule, global_law
from smoothdp.planning.alternatives import (
    CLIPPED,
    EXPONENTIAL,
    GLOBAL,
    HALF_SHIFT,
    MIDPOINT,
    Alternative,
)
from smoothdp.planning.candidates import plain
from smoothdp.planning.expected.clamped_error import Samples, clamped_error
from smoothdp.planning.expected.sampling_error import SamplingError
from smoothdp.planning.expected.shifted_error import ShiftedSamples
from smoothdp.planning.expected.simulated_samples import order_statistics
from smoothdp.planning.plan_request import PlanRequest
from smoothdp.queries import Mean, Median, Quantile, Query
from smoothdp.types import FloatArray, IntArray

_SAMPLES = 200
_REACH, _LEAST, _MOST = 40.0, 4, 3000
_GROWTH = 1.1


def other_ways(
    request: PlanRequest, queries: list[Query], error: SamplingError
) -> list[Alternative]:
    """Return what competes with windows and smooth noise, the best of each kind.

    A new mechanism competes by one more function here, and a name in
    `smoothdp.planning.alternatives` and `smoothdp.planning.mechanisms`.

    Args:
        request: what is planned. queries: the windows or trimmings that were tried.
        error: of windows, under the assumption.
    """
    found = [_best_global(request, queries, error)]
    query, is_assumed = request.query, not request.assumption.is_default
    if isinstance(query, Median | Quantile) and query.window is None:
        found.append(_exponential_way(request, error))
        found.append(_shifted_way(request, error))
        if is_assumed:
            # Where the mean lies beside the quantile nobody knows unless something is assumed.
            found.append(_global_way(request, Mean(query.bounds), error))
    if is_assumed:
        found.append(_midpoint(request, error))
    return [way for way in found if way is not None]


def _best_global(
    request: PlanRequest, queries: list[Query], error: SamplingError
) -> Alternative | None:
    """Return noise to global sensitivity on the best of the statistics; None if it is none."""
    ways = [
        _global_way(request, query, error)
        for query in queries
        # A mean of all values is released so anyway.
        if sum(query.drops(request.n_records))
    ]
    return min(ways, key=request.compared, default=None)


def _global_way(request: PlanRequest, query: Query, error: SamplingError) -> Alternative:
    """Return noise to global sensitivity on one statistic."""
    low, high = request.bounds
    n_records, law = request.n_records, global_law(request.guarantee)
    drops = query.drops(n_records)
    moved, terms = (high - low) / (n_records - sum(drops)), request.guarantee.terms()
    # The Gaussian law keeps mu itself, and not only the pure claim that implies it.
    e = float_of(terms.mu) if isinstance(terms, MuTerms) else Rule.of(request.guarantee).epsilon
    noise = moved * law.standard_deviation / e
    errors = []
    for without, against_sample in ((error.total(drops), False), (error.moved(drops), True)):
        values, targets = error.values(drops, against_sample=against_sample)
        samples = Samples(values, np.full_like(values, moved), targets, request.bounds)
        errors.append(clamped_error(without, noise, samples, law, 1 / e)[0])
    release, privacy = errors
    return Alternative(
        query,
        law,
        Fraction(0),
        release,
        privacy,
        error.total(drops),
        min(error.total(drops), release),
        method=GLOBAL if sum(drops) else CLIPPED,
        gaps=error.in_gaps(privacy),
    )


def _midpoint(request: PlanRequest, error: SamplingError) -> Alternative:
    """Return the middle of the bounds."""
    low, high = request.bounds
    middle, reference = (low + high) / 2, plain(request.query)
    _, targets = error.values(
        error.asked or reference.drops(request.n_records), against_sample=True
    )
    away = float(np.sqrt(np.mean((targets - middle) ** 2)))
    release = abs(min(max(error.target, low), high) - middle)
    gaps = error.in_gaps(away)
    return Alternative(
        reference, None, None, release, away, release, release, method=MIDPOINT, gaps=gaps
    )


def _exponential_way(request: PlanRequest, error: SamplingError) -> Alternative | None:
    """Return the exponential mechanism on ranks; None at q = 0 and 1."""
    query, n_records, assumption = request.query, request.n_records, request.assumption
    assert isinstance(query, Median | Quantile)
    low, high = request.bounds
    level = Fraction(1, 2) if isinstance(query, Median) else query.q
    if not 0 < level < 1:
        return None
    slope = float(slope_of(request.guarantee, level))
    drops = plain(query).drops(n_records)
    ranks = _ranks(level, n_records, slope)
    values = order_statistics(assumption, n_records, ranks, n_samples=_SAMPLES)
    values = np.clip(values, low, high)
    window = (ranks > drops[0]) & (ranks <= n_records - drops[1])
    targets = values[:, window].mean(axis=1)
    centre, bounds = float(level * n_records), request.bounds
    population = np.full_like(targets, min(max(error.target, low), high))
    square, privacy = (
        float(_exponential(values, ranks, about, bounds, centre, slope).mean())
        for about in (population, targets)
    )
    return _by_ranks(request, error, EXPONENTIAL, (square, privacy), targets)


def _shifted_way(request: PlanRequest, error: SamplingError) -> Alternative | None:
    """Return the half shift of a quantile as `release` makes it; None where it does not."""
    query, guarantee, n_records = request.query, request.guarantee, request.n_records
    if not shifts_by_default(query, guarantee, has_bars=False):
        return None
    assert isinstance(query, Median | Quantile)
    try:
        mechanism = HalfShift.calibrate(query, guarantee=guarantee, n_records=n_records)
    except SmoothdpError:
        return None
    (part,) = mechanism.parts
    samples = ShiftedSamples.draw(
        request.assumption,
        n_records,
        part.window,
        request.bounds,
        shift_variance=float(mechanism.shift_variance),
        plain=plain(query).drops(n_records),
    )
    law, scale = part.calibration.law, 1 / part.calibration.shift
    low, high = request.bounds
    population = np.full_like(samples.plain, min(max(error.target, low), high))
    square, privacy = (samples.square(law, scale, about) for about in (population, samples.plain))
    return _by_ranks(request, error, HALF_SHIFT, (square, privacy), samples.plain)


def _by_ranks(
    request: PlanRequest,
    error: SamplingError,
    method: str,
    squares: tuple[float, float],
    targets: FloatArray,
) -> Alternative:
    """Return a way without a window or noise of its own.

    Args:
        squares: its mean square errors about the population and about the records.
        targets: the plain statistic of simulated samples.
    """
    low, high = request.bounds
    # What privacy adds to the error of the plain statistic, which is known better.
    away = min(max(error.target, low), high)
    without, drawn = error.plain(), float(np.mean((targets - away) ** 2))
    release = math.sqrt(max(without**2 + squares[0] - drawn, 0.0))
    release = min(release, max(high - error.target, error.target - low))
    privacy = math.sqrt(squares[1])
    return Alternative(
        plain(request.query),
        None,
        None,
        release,
        privacy,
        without,
        min(without, release),
        method=method,
        gaps=error.in_gaps(privacy),
    )


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
