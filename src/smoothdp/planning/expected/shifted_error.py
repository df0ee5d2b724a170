"""The error of a half-shift release of one quantile, over simulated samples and the hidden shift.

The value is y = f(h) + S(h) Z / s, clamped, with h of the discrete Gaussian law: its mean square
error is the mean over h of that at each h, which is an integral over the noise alone
(`smoothdp.planning.expected.clamped_error`). The shifts are taken one by one, or where they spread
far in steps of a quarter of their deviation, up to eight deviations on each side; S is the largest
A_k e^(-t k) over the first k, then geometric ones, and those at which an end meets a bound.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from smoothdp.noise.law import NoiseDistribution
from smoothdp.planning.expected.assumption import Assumption
from smoothdp.planning.expected.clamped_error import Samples
from smoothdp.planning.expected.simulated_samples import Drops, order_statistics, steps
from smoothdp.queries.many.half_shift import HalfShiftWindow
from smoothdp.types import FloatArray, IntArray

_SAMPLES, _SAMPLES_OF_MANY, _MANY = 400, 150, 2000
_DEVIATIONS, _STEPS = 8.0, 4
_MOST_CELLS = 400


@dataclass(frozen=True, slots=True, eq=False)
class ShiftedSamples:
    """What the error of a half-shift release is taken over.

    Attributes:
        values, sensitivities: f and S, a row for each shift, a column for each sample.
        weights: of the shifts. plain: the plain sample quantile of each sample, clamped.
        bounds: (a, b).
    """

    values: FloatArray
    sensitivities: FloatArray
    weights: FloatArray
    plain: FloatArray
    bounds: tuple[float, float]

    @classmethod
    def draw(
        cls,
        assumption: Assumption,
        n_records: int,
        window: HalfShiftWindow,
        bounds: tuple[float, float],
        *,
        shift_variance: float,
        plain: Drops,
    ) -> ShiftedSamples:
        """Return simulated samples as a window of half ranks sees them at each shift.

        Args:
            assumption: the law of a record. n_records: n. window: before it is shifted.
            shift_variance: sigma_h^2. plain: what the plain quantile leaves out.
        """
        n = n_records
        shifts, weights = _shifts(shift_variance)
        offsets = np.unique(
            np.round(np.linspace(0, window.cells - 1, min(window.cells, _MOST_CELLS)))
        ).astype(np.int64)
        inside = [window.start(int(h)) + offsets for h in shifts]
        further = [_further(window, int(h), n) for h in shifts]
        asked = np.arange(plain[0] + 1, n - plain[1] + 1, dtype=np.int64)
        ranks = np.unique(
            np.concatenate(
                [asked]
                + [_ranks(cells - one, n) for pair in further for cells in pair for one in (0, 1)]
                + [_ranks(cells, n) for cells in inside]
            )
        )
        drawn = ranks[(ranks >= 1) & (ranks <= n)]
        few = _SAMPLES if len(drawn) <= _MANY else _SAMPLES_OF_MANY
        found = np.clip(order_statistics(assumption, n, drawn, n_samples=few), *bounds)
        ends = [np.full((few, 1), bound) for bound in bounds]
        known = np.concatenate([[0], drawn, [n + 1]])
        data = np.concatenate([ends[0], found, ends[1]], axis=1)

        def at(cells: IntArray) -> FloatArray:
            return data[:, np.searchsorted(known, _ranks(cells, n))]

        width, t = window.cells, float(window.smoothing)
        floor = (bounds[1] - bounds[0]) * math.exp(-min(t * window.reach, 700.0))
        sensitivities = []
        for h, (high, low) in zip(shifts, further, strict=True):
            away = (high - (window.start(int(h)) + width)).astype(np.float64)
            spread = np.maximum(at(high) - at(low), at(high - 1) - at(low - 1))
            largest = (spread * np.exp(-t * away)).max(axis=1)
            sensitivities.append(np.maximum(largest, floor) / width)
        return cls(
            np.stack([at(cells).mean(axis=1) for cells in inside]),
            np.stack(sensitivities),
            weights,
            at(2 * asked).mean(axis=1),
            bounds,
        )

    def square(self, law: NoiseDistribution, scale: float, targets: FloatArray) -> float:
        """Return the mean square error of the clamped value about a target of each sample.

        Args:
            law, scale: the noise is S scale Z.
        """
        total = 0.0
        for weight, value, size in zip(self.weights, self.values, self.sensitivities, strict=True):
            added, _ = Samples(value, size, targets, self.bounds).added(law, scale)
            total += float(weight) * (added + float(np.mean((value - targets) ** 2)))
        return total


def _shifts(variance: float) -> tuple[IntArray, FloatArray]:
    """Return half shifts and their weights: all that count, or a grid over them."""
    deviation = math.sqrt(variance)
    step = max(1, math.floor(deviation / _STEPS))
    reach = math.ceil(_DEVIATIONS * deviation / step)
    shifts = step * np.arange(-reach, reach + 1, dtype=np.int64)
    weights = np.exp(-(shifts.astype(np.float64) ** 2) / (2 * variance))
    return shifts, weights / weights.sum()


def _further(window: HalfShiftWindow, half_shift: int, n_records: int) -> tuple[IntArray, IntArray]:
    """Return the cells l + W + k and l - k for the k that are looked at."""
    start, looked_at = window.start(half_shift), window.steps(half_shift, n_records)
    first, last = looked_at.start, looked_at[-1]
    # Where an end comes to a bound, both differences of a k are looked at.
    meets = [2 * n_records + 1 - start - window.cells, start]
    near = [at + step for at in meets for step in (-1, 0, 1)]
    k = np.concatenate([first + steps(last - first), np.array(near, dtype=np.int64)])
    k = np.unique(k[(k >= first) & (k <= last)])
    return start + window.cells + k, start - k


def _ranks(cells: IntArray, n_records: int) -> IntArray:
    """Return the ranks of cells: 0 is the lower bound, n + 1 the upper one."""
    return np.clip((cells + 1) // 2, 0, n_records + 1)
