"""Figures 1 and 2 of paper 4 (Hladik, Tetek), with the exact curves beside the printed ones."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import ClassVar

import numpy as np

from smoothdp.claims.guarantees.guarantee import Guarantee
from smoothdp.claims.guarantees.standard import ApproxDP, PureDP
from smoothdp.errors import InvalidParameter
from smoothdp.noise import GeneralizedCauchy, Laplace, NoiseDistribution, PolyPlace, StudentT
from smoothdp.noise.calibration import best_shape, calibrate
from smoothdp.paper_bounds import (
    hladik_tetek_claim_16,
    hladik_tetek_claim_17,
    hladik_tetek_claim_18,
    hladik_tetek_theorem_8,
)
from smoothdp.papers.reproduction import Progress
from smoothdp.papers.runner import run_cells
from smoothdp.papers.table import DASH
from smoothdp.plots.canvas import save
from smoothdp.plots.noise import plot_deviations
from smoothdp.plots.panels import Panel, plot_panels
from smoothdp.text import table

_SMOOTHINGS = (
    "0.001", "0.01", "0.02", "0.05", "0.07", "0.1", "0.15", "0.2", "0.25", "0.3", "0.35", "0.4",
    "0.45", "0.47", "0.49",
)  # fmt: skip
_MORE_SMOOTHINGS = ("0.002", "0.005", "0.03", "0.42", "0.48", "0.495")
_SHOWN = ("91/100", "2/3", "1/5")
_EPSILON = 1
_DELTA = "1e-5"
# As the paper calls them.
_NAMES = {
    "StudentT": "Student's T",
    "GeneralizedCauchy": "generalized Cauchy",
    "Laplace": "Laplace (approximate DP)",
}
# Not in the picture of the paper.
_THEOREM_34 = "Laplace, paper 2"


@dataclass(frozen=True, slots=True)
class DeviationRow:
    """One smoothing: standard deviations by (law, "paper" or "exact"); inf where none."""

    smoothing: str
    deviations: dict[str, float]


@dataclass(frozen=True, slots=True)
class DeviationFigure:
    """Figure 1 of paper 4: standard deviation of the noise against the smoothing gamma."""

    title: ClassVar[str] = "noise for smooth sensitivity, epsilon = 1, delta = 1e-5 for Laplace"
    smoothings: tuple[DeviationRow, ...]

    @classmethod
    def compute(
        cls, *, full: bool = False, store: Path | None = None, progress: Progress | None = None
    ) -> DeviationFigure:
        """Compute both curves of every law, best shapes.

        The paper's are Claims 16 to 18 and Theorem 8; exact ones are calibrated. Laplace noise has
        a sharper theorem in paper 2 as well, which is what `smoothdp noise` prints.
        The full size has more smoothings; from epsilon / 2 on no variance is finite.
        """
        smoothings = sorted(_SMOOTHINGS + _MORE_SMOOTHINGS, key=float) if full else _SMOOTHINGS
        computed = run_cells(
            "polyplace/1",
            list(smoothings),
            deviation_row,
            store=store,
            progress=progress,
            workers=None if full else 1,
        )
        return cls(tuple(map(DeviationRow, smoothings, computed)))

    def text(self) -> str:
        """Return the table and its findings as text."""
        names = list(self.smoothings[0].deviations)
        rows = [
            (row.smoothing, *(_deviation_text(row.deviations[name]) for name in names))
            for row in self.smoothings
        ]
        return (
            f"Figure 1 of paper 4: {self.title}\n\n{table(rows, header=('smoothing', *names))}\n"
            f"{DASH}: the column grants no noise of finite variance at this smoothing\n\n"
            "Standard deviations at smooth sensitivity 1: Claims 16 to 18 and Theorem 8, and "
            "Theorem 34 of paper 2,\nas printed, and exactly calibrated. PolyPlace stays the best "
            "pure-DP noise, by less than printed:\nthe ranges in which older noise works are "
            "wider than the claims say."
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
                for row in self.smoothings
            ],
        }

    def rows(self) -> tuple[tuple[str, ...], list[tuple[object, ...]]]:
        """Return one row for each smoothing; inf where no noise of that law is possible."""
        names = tuple(self.smoothings[0].deviations)
        return ("smoothing", *names), [
            (row.smoothing, *(row.deviations[name] for name in names)) for row in self.smoothings
        ]

    def draw(self, path: str | Path) -> Path:
        """Write the picture, in the arrangement of the paper, and return its path."""
        curves = {
            _shown_name(name): [row.deviations[name] for row in self.smoothings]
            for name in self.smoothings[0].deviations
            if name != _THEOREM_34
        }
        axes = plot_deviations(
            [float(row.smoothing) for row in self.smoothings],
            curves,
            reference=(math.sqrt(2), "Laplace, global sensitivity"),
            title=self.title,
        )
        return save(axes, path)


@dataclass(frozen=True, slots=True)
class DensityFigure:
    """Figure 2 of paper 4: Laplace and PolyPlace densities, printed and exact scales."""

    title: ClassVar[str] = "PolyPlace and Laplace densities at epsilon = 1"
    laws: dict[str, tuple[NoiseDistribution, float]]

    @classmethod
    def compute(
        cls, *, full: bool = False, store: Path | None = None, progress: Progress | None = None
    ) -> DensityFigure:
        """Calibrate PolyPlace for gamma = .91, 2/3 and .2, by Theorem 8 and exactly.

        Both sizes are the same.
        """
        computed = run_cells(
            "polyplace/2",
            [(smoothing, method) for smoothing in _SHOWN for method in ("paper", "exact")],
            density_scale,
            store=store,
            progress=progress,
            workers=None if full else 1,
        )
        laws: dict[str, tuple[NoiseDistribution, float]] = {"Laplace": (Laplace(), 1.0)}
        for smoothing, paper, exact in zip(_SHOWN, computed[::2], computed[1::2], strict=True):
            law = PolyPlace(1 / Fraction(smoothing))
            laws[f"gamma = {smoothing}, paper"] = (law, paper)
            laws[f"gamma = {smoothing}, exact"] = (law, exact)
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

    def rows(self) -> tuple[tuple[str, ...], list[tuple[object, ...]]]:
        """Return one row for each curve."""
        return ("curve", "law", "scale"), [
            (label, repr(law), scale) for label, (law, scale) in self.laws.items()
        ]

    def draw(self, path: str | Path) -> Path:
        """Write the picture, as printed and with the exact scales, and return its path."""
        xs = np.linspace(-8.0, 8.0, 401)
        panels = []
        for method, title in (("paper", "as printed, Theorem 8"), ("exact", "exact scales")):
            curves = {
                label.removesuffix(f", {method}"): (
                    (law.log_density(xs / scale) - math.log(scale)) / math.log(10)
                ).tolist()
                for label, (law, scale) in self.laws.items()
                if label == "Laplace" or label.endswith(method)
            }
            x_label = "noise, in units of the smooth sensitivity"
            panels.append(Panel(title, x_label, "log10 of the density", xs.tolist(), curves))
        return save(plot_panels(panels), path)


def _deviation_text(deviation: float) -> str:
    return f"{deviation:.4f}" if math.isfinite(deviation) else DASH


def _shown_name(name: str) -> str:
    """Return the label of a curve: the law as the paper calls it, printed or exact."""
    law, _, method = name.partition(", ")
    return f"{_NAMES.get(law, law)}, {'as printed' if method == 'paper' else method}"


def deviation_row(smoothing: str) -> dict[str, float]:
    """Return the standard deviations at one smoothing, by law: as printed, and exactly."""
    t = Fraction(smoothing)
    deviations = {}
    for family, guarantee, printed in (
        (StudentT, PureDP(_EPSILON), _best(hladik_tetek_claim_17, 2, t)),
        (Laplace, ApproxDP(_EPSILON, delta=_DELTA), _possible(hladik_tetek_claim_18, _DELTA, t)),
        (PolyPlace, PureDP(_EPSILON), _possible(hladik_tetek_theorem_8, None, t)),
        (GeneralizedCauchy, PureDP(_EPSILON), _best(hladik_tetek_claim_16, 3, t)),
    ):
        deviations[f"{family.__name__}, paper"] = printed
        if family is Laplace:
            deviations[_THEOREM_34] = _theorem_34(t)
        deviations[f"{family.__name__}, exact"] = _exact(family, guarantee, t)
    return deviations


def _theorem_34(t: Fraction) -> float:
    """Return the deviation of Laplace noise by Theorem 34 of paper 2, inf outside its range."""
    guarantee = ApproxDP(_EPSILON, delta=_DELTA)
    try:
        return calibrate(Laplace(), guarantee, smoothing=t, method="paper").standard_deviation
    except InvalidParameter:
        return math.inf


def _best(claim: Callable[..., float], least: int, t: Fraction) -> float:
    """Return the least deviation of a claim over shapes above ``least``, to about 1e-6."""
    low, high = float(least), min(float(_EPSILON / t), 60.0)
    best = (math.inf, low)
    for _ in range(3):
        steps = [low + (high - low) * step / 60 for step in range(61)]
        best = min(best, *((_possible(claim, f"{v:.9f}", t), v) for v in steps))
        width = (high - low) / 60
        low, high = max(low, best[1] - width), min(high, best[1] + width)
    return best[0]


def _possible(claim: Callable[..., float], first: str | None, t: Fraction) -> float:
    """Return the deviation that a claim prints, inf outside its range."""
    leading = () if first is None else (first,)
    try:
        return claim(*leading, epsilon=_EPSILON, smoothing=t)
    except InvalidParameter:
        return math.inf


def density_scale(cell: tuple[str, str]) -> float:
    """Return the scale of PolyPlace for (smoothing, method) at smooth sensitivity 1."""
    t = Fraction(cell[0])
    law = PolyPlace(1 / t)
    return 1 / calibrate(law, PureDP(_EPSILON), smoothing=t, method=cell[1]).shift


def _exact(family: type[NoiseDistribution], guarantee: Guarantee, smoothing: Fraction) -> float:
    try:
        law = best_shape(family, guarantee, smoothing=smoothing)
        return calibrate(law, guarantee, smoothing=smoothing).standard_deviation
    except InvalidParameter:
        return math.inf
