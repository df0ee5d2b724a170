"""Figures 1 and 2 of paper 4 (Hladik, Tetek), with the exact curves beside the printed ones."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import ClassVar

from smoothdp.errors import InvalidParameter
from smoothdp.noise import Laplace, NoiseDistribution, PolyPlace, StudentT
from smoothdp.noise.calibration import best_shape, calibrate
from smoothdp.plots.canvas import save
from smoothdp.plots.densities import plot_densities
from smoothdp.plots.deviations import plot_deviations
from smoothdp.privacy.guarantee import Guarantee
from smoothdp.privacy.standard import ApproxDP, PureDP
from smoothdp.report.noise_comparison import paper_deviation
from smoothdp.text import table

_SMOOTHINGS = ("0.001", "0.01", "0.05", "0.1", "0.2", "0.25", "0.3", "0.4", "0.45", "0.49")
_EPSILON = 1
_DELTA = "1e-5"


@dataclass(frozen=True, slots=True)
class DeviationRow:
    """One smoothing: standard deviations by (law, "paper" or "exact"); inf where none."""

    smoothing: str
    deviations: dict[str, float]


@dataclass(frozen=True, slots=True)
class DeviationFigure:
    """Figure 1 of paper 4: standard deviation of the noise against the smoothing gamma."""

    title: ClassVar[str] = "noise for smooth sensitivity, epsilon = 1, delta = 1e-5 for Laplace"
    rows: tuple[DeviationRow, ...]

    @classmethod
    def compute(cls, *, progress: Callable[[int, int], None] | None = None) -> DeviationFigure:
        """Compute both curves of Student's T, Laplace and PolyPlace, best shapes.

        The theorems' curves are those of `smoothdp.paper_bounds`; exact ones are calibrated.
        """
        families: tuple[tuple[type[NoiseDistribution], Guarantee], ...] = (
            (StudentT, PureDP(_EPSILON)),
            (Laplace, ApproxDP(_EPSILON, delta=_DELTA)),
            (PolyPlace, PureDP(_EPSILON)),
        )
        rows = []
        for done, smoothing in enumerate(_SMOOTHINGS, 1):
            found = {}
            for family, guarantee in families:
                t = Fraction(smoothing)
                paper = paper_deviation(family, guarantee, t)
                found[f"{family.__name__}, paper"] = math.inf if paper is None else paper
                found[f"{family.__name__}, exact"] = _exact(family, guarantee, t)
            rows.append(DeviationRow(smoothing, found))
            if progress is not None:
                progress(done, len(_SMOOTHINGS))
        return cls(tuple(rows))

    def text(self) -> str:
        """Return the table and what it says."""
        names = list(self.rows[0].deviations)
        rows = [
            (row.smoothing, *(f"{row.deviations[name]:.4f}" for name in names)) for row in self.rows
        ]
        return (
            f"Figure 1 of paper 4: {self.title}\n\n{table(rows, header=('smoothing', *names))}\n\n"
            "Standard deviations at smooth sensitivity 1. The theorems cost up to a few times the "
            "exact\ncalibration; PolyPlace stays the best pure-DP noise, by less than printed: "
            "the ranges in which\nolder noise works are wider than its theorems say."
        )

    def to_dict(self) -> dict[str, object]:
        """Return everything for JSON; None where no noise of that law is possible."""
        return {
            "figure": "polyplace/1",
            "rows": [
                {
                    "smoothing": row.smoothing,
                    **{k: v if math.isfinite(v) else None for k, v in row.deviations.items()},
                }
                for row in self.rows
            ],
        }

    def draw(self, path: str | Path) -> Path:
        """Write the picture, in the arrangement of the paper, and return its path."""
        curves = {
            name: [row.deviations[name] for row in self.rows] for name in self.rows[0].deviations
        }
        axes = plot_deviations(
            [float(row.smoothing) for row in self.rows],
            curves,
            reference=(math.sqrt(2), "Laplace at global sensitivity"),
            title=self.title,
        )
        return save(axes, path)


@dataclass(frozen=True, slots=True)
class DensityFigure:
    """Figure 2 of paper 4: Laplace and PolyPlace densities, printed and exact scales."""

    title: ClassVar[str] = "PolyPlace and Laplace densities at epsilon = 1"
    laws: dict[str, tuple[NoiseDistribution, float]]

    @classmethod
    def compute(cls, *, progress: Callable[[int, int], None] | None = None) -> DensityFigure:
        """Calibrate PolyPlace for gamma = .91, 2/3 and .2, by Theorem 8 and exactly."""
        laws: dict[str, tuple[NoiseDistribution, float]] = {"Laplace": (Laplace(), 1.0)}
        for smoothing in ("91/100", "2/3", "1/5"):
            t = Fraction(smoothing)
            law = PolyPlace(1 / t)
            for method in ("paper", "exact"):
                shift = calibrate(law, PureDP(_EPSILON), smoothing=t, method=method).shift
                laws[f"gamma = {smoothing}, {method}"] = (law, 1 / shift)
            if progress is not None:
                progress(len(laws) // 2, 3)
        return cls(laws)

    def text(self) -> str:
        """Return the scales and the densities at 0."""
        rows = [
            (label, repr(law), f"{scale:.6g}", f"{float(law.density(0.0)) / scale:.6g}")
            for label, (law, scale) in self.laws.items()
        ]
        header = ("curve", "law", "scale", "density at 0")
        return f"Figure 2 of paper 4: {self.title}\n\n{table(rows, header=header)}"

    def to_dict(self) -> dict[str, object]:
        """Return everything for JSON."""
        return {
            "figure": "polyplace/2",
            "curves": {
                label: {"law": repr(law), "scale": scale}
                for label, (law, scale) in self.laws.items()
            },
        }

    def draw(self, path: str | Path) -> Path:
        """Write the picture, and return its path."""
        return save(plot_densities(self.laws, title=self.title), path)


def _exact(family: type[NoiseDistribution], guarantee: Guarantee, smoothing: Fraction) -> float:
    try:
        law = best_shape(family, guarantee, smoothing=smoothing)
        return calibrate(law, guarantee, smoothing=smoothing).standard_deviation
    except InvalidParameter:
        return math.inf
