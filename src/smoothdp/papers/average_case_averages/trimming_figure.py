"""Figure 1 of paper 2 (Bun, Steinke): the variance of the trimmed mean, without privacy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from smoothdp.papers.average_case_averages.trimmed_variance import (
    SymmetricLaw,
    laplace,
    normal,
    normal_mixture,
    trimmed_variance,
)
from smoothdp.papers.reproduction import Progress
from smoothdp.papers.runner import run_cells
from smoothdp.plots.canvas import save
from smoothdp.plots.trimming import TrimmingLine, TrimmingPanel, plot_trimming
from smoothdp.text import table

_N = 1001
# The paper's picture has a mixture of two Gaussians of one mean; its text gives no parameters.
_SHARE, _SCALE = 0.1, 3.0
_QUICK_STEP, _SHOWN = 20, 50
# Trimming levels computed and kept together.
_PART = 30


def laws() -> tuple[SymmetricLaw, ...]:
    """Return the laws of records."""
    return normal(), laplace(), normal_mixture(_SHARE, _SCALE)


@dataclass(frozen=True, slots=True)
class TrimmingFigure:
    """Figure 1 of paper 2: variance of the trimmed mean of n = 1001 records, three laws.

    The paper averages 10^6 repetitions; here the variance is an integral over the two order
    statistics at which values are trimmed, exact to rounding (to 1e-8 for the Laplacian median).

    Attributes:
        trims: m, left out on each side.
        variances: n times the variance of the trimmed mean, by law and trim.
    """

    title: ClassVar[str] = "variance of the trimmed mean of three laws, n = 1001, without privacy"
    trims: tuple[int, ...]
    variances: dict[str, tuple[float, ...]]

    @classmethod
    def compute(
        cls, *, full: bool = False, store: Path | None = None, progress: Progress | None = None
    ) -> TrimmingFigure:
        """Recompute the figure at some trimming levels, or with ``full`` at every one."""
        middle = (_N - 1) // 2
        step = 1 if full else _QUICK_STEP
        trims = tuple(sorted({*range(0, middle + 1, step), *range(0, step, 2), middle}))
        cells = [list(trims[start : start + _PART]) for start in range(0, len(trims), _PART)]
        computed = run_cells(
            "average-case-averages-trimming", cells, variances_at, store=store, progress=progress
        )
        names = [law.name for law in laws()]
        return cls(
            trims,
            {
                name: tuple(value for variances in computed for value in variances[row])
                for row, name in enumerate(names)
            },
        )

    def text(self) -> str:
        """Return the table and its findings as text."""
        header = ("trim", "share", *self.variances)
        shown = [
            position for position, trim in enumerate(self.trims) if trim < 5 or trim % _SHOWN == 0
        ]
        rows = [
            (
                str(self.trims[position]),
                f"{self.trims[position] / _N:.3f}",
                *(f"{values[position]:.4f}" for values in self.variances.values()),
            )
            for position in shown
        ]
        least = ", ".join(
            f"{self.trims[min(range(len(values)), key=values.__getitem__)]} ({name})"
            for name, values in self.variances.items()
        )
        return (
            f"Figure 1 of paper 2: {self.title}\n\n{table(rows, header=header)}\n\n"
            "n times the variance. It is exact: no repetitions, where the paper has 10^6. Least "
            f"at trim\n{least}.\nThe text of the paper gives no parameters of its mixture of two "
            "Gaussians; this one has the\nshape that it describes: least in between."
        )

    def to_dict(self) -> dict[str, object]:
        """Return everything for JSON."""
        return {
            "figure": "average-case-averages/1",
            "n_records": _N,
            "trims": list(self.trims),
            "n_times_variance": {name: list(values) for name, values in self.variances.items()},
        }

    def rows(self) -> tuple[Sequence[str], Sequence[Sequence[object]]]:
        """Return the header and the rows of one table, for CSV."""
        columns = zip(self.trims, *self.variances.values(), strict=True)
        return ("trim", *self.variances), [tuple(row) for row in columns]

    def draw(self, path: str | Path) -> Path:
        """Write the picture, in the arrangement of the paper, and return its path."""
        styles = zip(self.variances.items(), ("blue", "vermilion", "green"), strict=True)
        lines = [TrimmingLine(name, values, colour) for (name, values), colour in styles]
        shares = [trim / _N for trim in self.trims]
        panel = TrimmingPanel(f"n = {_N}, exact", shares, lines)
        axes = plot_trimming(
            [panel],
            x_label="trimming fraction on each side, m / n",
            y_label="n x variance of the trimmed mean",
            log_scale=False,
        )
        return save(axes, path)


def variances_at(trims: list[int]) -> list[list[float]]:
    """Return n Var(trim_m) for each law and each trim."""
    return [[trimmed_variance(law, _N, trim) for trim in trims] for law in laws()]
