"""The lines of Figures 2 to 6 of paper 2: from deviations of noise and sampled sensitivities."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from smoothdp.papers.average_case_averages.trimmed_variance import normal, trimmed_variance
from smoothdp.types import FloatArray


@dataclass(frozen=True, slots=True)
class ExcessPoint:
    """One trimming level of one line.

    Attributes:
        trim: m.
        excess: n E(M(X) - mean)^2 - 1. error: its standard error over data sets.
        smoothing: the t that makes it least; "" where there is none.
        label: how the noise is known: "proved", "certified", "numerical", "printed" or "".
    """

    trim: int
    excess: float
    error: float
    smoothing: str
    label: str


@dataclass(frozen=True, slots=True)
class ExcessLine:
    """One line of a figure.

    Attributes:
        name: of the line. guarantee: what is kept, in short.
        is_printed: whether the paper has it.
        points: by trimming level.
    """

    name: str
    guarantee: str
    is_printed: bool
    points: tuple[ExcessPoint, ...]

    def best(self) -> ExcessPoint:
        """Return the point with the least excess."""
        return min(self.points, key=lambda point: point.excess)


class SampledSensitivities:
    """Moments of smooth sensitivities, and the lines that follow from deviations of noise."""

    def __init__(
        self,
        n_records: int,
        n_samples: int,
        trims: Sequence[int],
        smoothings: Sequence[str],
        moments: FloatArray,
    ) -> None:
        self._n, self._trims, self._moments = n_records, trims, moments
        self._column = {t: column for column, t in enumerate(smoothings)}
        self._n_samples = n_samples
        self.trimming = [trimmed_variance(normal(), n_records, m) - 1 for m in trims]

    def line(
        self, name: str, guarantee: str, deviations: Mapping[str, float], *, label: str
    ) -> ExcessLine:
        """Return the line of deviations by smoothing, each point at its best smoothing."""
        columns = [self._column[t] for t in deviations]
        with np.errstate(over="ignore"):
            variances = np.square(np.array(list(deviations.values())))
        times = list(deviations)
        points = []
        for row, trim in enumerate(self._trims):
            # Bounds for a large t overflow; they are never the least.
            with np.errstate(over="ignore"):
                noise = self._n * variances * self._moments[row, 0, columns]
            best = int(np.argmin(noise))
            second, fourth = self._moments[row, :, columns[best]]
            spread = math.sqrt(max(0.0, fourth / second**2 - 1) / self._n_samples)
            excess = self.trimming[row] + float(noise[best])
            error = float(noise[best]) * spread
            points.append(ExcessPoint(trim, excess, error, times[best], label))
        return ExcessLine(name, guarantee, label == "printed", tuple(points))
