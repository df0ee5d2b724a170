"""Figures 2 to 6 of paper 2 (Bun, Steinke): excess variance of the private trimmed mean."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from pathlib import Path
from typing import ClassVar, Self

import numpy as np

from smoothdp.papers.average_case_averages.cells import (
    GUARANTEES,
    SMOOTHINGS,
    Cell,
    compute_cell,
    data_cells,
    noise_cells,
)
from smoothdp.papers.average_case_averages.excess_lines import (
    ExcessLine,
    ExcessPoint,
    SampledSensitivities,
)
from smoothdp.papers.average_case_averages.mean_squares import BOUNDS
from smoothdp.papers.average_case_averages.noise_deviations import CLOSED, PRINTED
from smoothdp.papers.average_case_averages.trimmed_variance import normal, trimmed_variance
from smoothdp.papers.reproduction import Progress
from smoothdp.papers.runner import run_cells
from smoothdp.papers.table import DASH
from smoothdp.plots.canvas import save
from smoothdp.plots.trimming import TrimmingLine, TrimmingPanel, plot_trimming
from smoothdp.text import table

_FULL_SAMPLES, _FULL_BATCH = 10**6, 10_000
_QUICK_BATCHES = 4
# Exact curves need no smoothings so small that the sensitivity is that of the bounds.
_LEAST_RATIO = 0.003
_STORE = "average-case-averages"
_WITHOUT_NOISE, _GLOBAL, _BEST = "trim non-priv", "global sens", "LLN"
_COLOURS = {
    "LLN": "blue",
    "ULN": "vermilion",
    "arsinhN": "green",
    "Student's T": "purple",
    "Lap": "orange",
    "N": "sky blue",
    "PolyPlace": "black",
}
_DASHES = {
    _GLOBAL: "--",
    "lower bound": ":",
    "lower bound, pure": ":",
    "lower bound, zCDP": "-.",
    "N, as printed (invalid)": "--",
    "N, corrected": "--",
    "PolyPlace, Theorem 8 of paper 4": "--",
}


@dataclass(frozen=True, slots=True)
class PrivateMeanFigure:
    """Figures 2 to 6 of paper 2: n * MSE - 1 of the private trimmed mean against the trimming.

    Data are N(0, 1), truncated to [-50, 1050]; t is the best of the paper's 150 values, or for
    noise with certificates of those that were certified. Given the data the error of the noise
    is S^2 times its variance, exactly, and the error of trimming is an integral: only E S^2 is
    sampled. Lines that the paper does not have: exact calibrations, PolyPlace of paper 4, and
    lower bounds for every noise.

    Attributes:
        n_samples: data sets.
        lines: first the paper's.
    """

    title: ClassVar[str]
    number: ClassVar[int]
    n_records: ClassVar[int]
    epsilon: ClassVar[str]
    trims: ClassVar[tuple[int, ...]]
    quick_samples: ClassVar[int]
    n_samples: int
    lines: tuple[ExcessLine, ...]

    @classmethod
    def compute(
        cls, *, full: bool = False, store: Path | None = None, progress: Progress | None = None
    ) -> Self:
        """Recompute the figure; ``full`` with the paper's 10^6 data sets and every certificate."""
        n_samples = _FULL_SAMPLES if full else cls.quick_samples
        size = _FULL_BATCH if full else -(-n_samples // _QUICK_BATCHES)
        noise = noise_cells(cls.epsilon, full=full)
        times = tuple(dict.fromkeys([*SMOOTHINGS, *(cell[3] for cell in noise)]))
        data = data_cells(cls.n_records, cls.trims, times, n_samples=n_samples, size=size)
        computed = run_cells(_STORE, [*noise, *data], compute_cell, store=store, progress=progress)
        counts = np.array([cell[5] for cell in data], dtype=np.float64)
        moments = np.average(np.array(computed[len(noise) :]), axis=0, weights=counts)
        sampled = SampledSensitivities(cls.n_records, n_samples, cls.trims, times, moments)
        return cls(n_samples, tuple(cls._lines(sampled, zip(noise, computed, strict=False))))

    @classmethod
    def _lines(
        cls, sampled: SampledSensitivities, certified: Iterable[tuple[Cell, list[object]]]
    ) -> Iterable[ExcessLine]:
        epsilon = Fraction(cls.epsilon)
        trimmed = [
            ExcessPoint(m, sampled.trimming[row], 0.0, "", "") for row, m in enumerate(cls.trims)
        ]
        width = BOUNDS[1] - BOUNDS[0]
        worst = width * width / (cls.n_records * float(epsilon) ** 2)
        yield ExcessLine(_WITHOUT_NOISE, "none", True, tuple(trimmed))
        constant = tuple(ExcessPoint(m, worst, 0.0, "", "") for m in cls.trims)
        yield ExcessLine(_GLOBAL, "zCDP", True, constant)
        for analysis in PRINTED:
            deviations = {t: analysis.deviation(epsilon, Fraction(t)) for t in SMOOTHINGS}
            yield sampled.line(analysis.label, analysis.guarantee, deviations, label="printed")
        least = _LEAST_RATIO * float(epsilon)
        near = [t for t in SMOOTHINGS if least <= float(t)]
        for analysis in CLOSED:
            deviations = {t: analysis.deviation(epsilon, Fraction(t)) for t in near}
            yield sampled.line(analysis.label, analysis.guarantee, deviations, label="proved")
        by_law: dict[str, dict[str, float]] = {}
        labels: dict[str, str] = {}
        for (_, law, _, t, _), (deviation, label) in certified:
            if isinstance(deviation, float):
                by_law.setdefault(law, {})[t] = deviation
                labels[law] = str(label)
        for law, deviations in by_law.items():
            yield sampled.line(f"{law}, exact", GUARANTEES[law], deviations, label=labels[law])

    def line(self, name: str) -> ExcessLine:
        """Return a line by its name.

        Raises:
            KeyError: there is none.
        """
        return {line.name: line for line in self.lines}[name]

    def text(self) -> str:
        """Return the best trimming level of every line, and what the lines say."""
        header = ("line", "guarantee", "least excess", "error", "at trim", "smoothing", "noise is")
        rows = []
        for line in self.lines:
            best = line.best()
            if line.name == _WITHOUT_NOISE:
                continue
            fixed = line.name == _GLOBAL
            rows.append(
                (
                    line.name,
                    line.guarantee,
                    f"{best.excess:.4g}" if math.isfinite(best.excess) else DASH,
                    DASH if fixed else f"{best.error:.1g}",
                    DASH if fixed else str(best.trim),
                    best.smoothing or DASH,
                    best.label or DASH,
                )
            )
        best = self.line(_BEST).best()
        trimming = trimmed_variance(normal(), self.n_records, best.trim) - 1
        return (
            f"Figure {self.number} of paper 2: {self.title}\n\n{table(rows, header=header)}\n"
            f"{DASH}: one noise for global sensitivity: nothing is trimmed, smoothed or sampled\n\n"
            f"Excess variance n * MSE - 1, least over {len(self.trims)} trimming levels from "
            f"{self.trims[0]} to {self.trims[-1]}, each with\nits best smoothing. The variance "
            "of the noise given the data and the variance of trimming\nare exact; only the mean "
            f"of S^2 is sampled, over {self.n_samples} data sets (the error).\n"
            f"Of the excess of {_BEST} at trim {best.trim}, trimming makes {trimming:.4f} "
            f"and noise {best.excess - trimming:.4f}.\n\n"
            "Beside the printed figure: the text gives no trimming levels, and its values in "
            "words only.\nN as printed (section 3.5) is not private: the variance of noise "
            "scaled to S changes by e^(2t),\nnot e^t. The lower bound is Proposition 36 with "
            "l = 0, which is what privacy implies. Lines\nnamed exact, PolyPlace, N corrected "
            "and the lower bounds by guarantee are not in the paper;\nnumerical ones are "
            "estimates, which the full size certifies."
        )

    def to_dict(self) -> dict[str, object]:
        """Return everything for JSON."""
        return {
            "figure": f"average-case-averages/{self.number}",
            "n_records": self.n_records,
            "epsilon": self.epsilon,
            "n_samples": self.n_samples,
            "lines": [
                {
                    "line": line.name,
                    "guarantee": line.guarantee,
                    "printed": line.is_printed,
                    "points": [_finite(asdict(point)) for point in line.points],
                }
                for line in self.lines
            ],
        }

    def rows(self) -> tuple[Sequence[str], Sequence[Sequence[object]]]:
        """Return the header and the rows of one table, for CSV."""
        header = ("line", "guarantee", "printed", "trim", "excess", "error", "smoothing", "noise")
        return header, [
            (
                line.name,
                line.guarantee,
                line.is_printed,
                point.trim,
                point.excess,
                point.error,
                point.smoothing,
                point.label,
            )
            for line in self.lines
            for point in line.points
        ]

    def draw(self, path: str | Path) -> Path:
        """Write the picture: the paper's lines, and beside them those of this library."""
        printed = [_drawn(line) for line in self.lines if line.is_printed]
        ours = [_drawn(line) for line in self.lines if not line.is_printed]
        setting = f"n = {self.n_records}, epsilon = {self.epsilon}"
        panels = [
            TrimmingPanel(f"paper 2: {setting}", self.trims, printed),
            TrimmingPanel(
                f"exact calibrations and PolyPlace: {setting}", self.trims, [printed[0], *ours]
            ),
        ]
        axes = plot_trimming(
            panels, x_label="trimmed on each side, m", y_label="excess variance, n MSE - 1"
        )
        return save(axes, path)


_TITLE = "excess variance of the private trimmed mean, N(0, 1) data"


class PrivateMeanFigure2(PrivateMeanFigure):
    """Figure 2 of paper 2: n = 201, epsilon = 1."""

    __slots__ = ()
    title = f"{_TITLE}, n = 201, epsilon = 1"
    number, n_records, epsilon, quick_samples = 2, 201, "1", 4000
    trims = (5, 10, 15, 18, 20, *range(25, 100, 5))


class PrivateMeanFigure3(PrivateMeanFigure):
    """Figure 3 of paper 2: n = 501, epsilon = 1."""

    __slots__ = ()
    title = f"{_TITLE}, n = 501, epsilon = 1"
    number, n_records, epsilon, quick_samples = 3, 501, "1", 3000
    trims = (10, 15, 20, 25, 30, 40, 50, 60, 70, 80, 90, 100, 120, 150, 180, 210, 240)


class PrivateMeanFigure4(PrivateMeanFigure):
    """Figure 4 of paper 2: n = 1001, epsilon = 1."""

    __slots__ = ()
    title = f"{_TITLE}, n = 1001, epsilon = 1"
    number, n_records, epsilon, quick_samples = 4, 1001, "1", 2000
    trims = (12, 18, 24, 30, 40, 50, 60, 70, 85, 100, 120, 150, 200, 250, 300, 400)


class PrivateMeanFigure5(PrivateMeanFigure):
    """Figure 5 of paper 2: n = 5001, epsilon = 1."""

    __slots__ = ()
    title = f"{_TITLE}, n = 5001, epsilon = 1"
    number, n_records, epsilon, quick_samples = 5, 5001, "1", 800
    trims = (15, 20, 30, 40, 50, 60, 80, 100, 120, 160, 200, 300, 400, 600)


class PrivateMeanFigure6(PrivateMeanFigure):
    """Figure 6 of paper 2: n = 5001, epsilon = 0.2."""

    __slots__ = ()
    title = f"{_TITLE}, n = 5001, epsilon = 0.2"
    number, n_records, epsilon, quick_samples = 6, 5001, "0.2", 400
    trims = (40, 60, 80, 100, 120, 160, 200, 250, 300, 400, 500, 600, 800, 1000, 1300, 1600)


def _drawn(line: ExcessLine) -> TrimmingLine:
    """Return a line as it is drawn; a law has one colour in both panels."""
    return TrimmingLine(
        line.name,
        [point.excess for point in line.points],
        _COLOURS.get(line.name.split(",")[0], "grey"),
        _DASHES.get(line.name, "-"),
    )


def _finite(point: dict[str, object]) -> dict[str, object]:
    """Return a point with None for values that are no number in JSON."""
    return {
        name: None if isinstance(value, float) and not math.isfinite(value) else value
        for name, value in point.items()
    }
