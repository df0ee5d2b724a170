"""Figure 5 of paper 1 (appendix G.2), recomputed: SGD with other laws of the gradients."""

from __future__ import annotations

import math
from pathlib import Path
from typing import ClassVar

from smoothdp.papers.panel_figure import PanelFigure
from smoothdp.papers.reproduction import Progress
from smoothdp.papers.runner import run_cells
from smoothdp.papers.smoothed_dp.figure_2_right import (
    GradientRow,
    gradient_row,
    read_gradient_row,
)
from smoothdp.plots.panels import Panel

_LN10 = math.log(10)
_SETTINGS = (
    (("normal", "0", "0.15"), ("normal", "0.2", "0.15")),
    (("normal", "0", "0.1"), ("normal", "0.2", "0.1")),
    (("normal", "0", "0.12"), ("laplace", "0", "0.12")),
    (("laplace", "0", "0.12"), ("laplace", "0.2", "0.12")),
)
_SIZES = (25, 49, 100, 169)
_FULL_SIZES = (25, 49, 100, 169, 225, 324, 400, 625)


class GradientSettingsFigure(PanelFigure):
    """Figure 5 of paper 1: smoothed delta of one step of SGD against n, in four settings."""

    name: ClassVar[str] = "smoothed-dp/5"
    title: ClassVar[str] = "Figure 5 of paper 1: one step of SGD, four settings"
    note: ClassVar[str] = (
        "Means of the exact delta(x) of seeded databases, all records from one law; the 99% "
        "interval holds at\nany number of databases and is wide. The paper does not state "
        "epsilon; 2 is used. In this range the\ndecay is like exp(-sqrt(n)), the batch, in every "
        "setting; for very large n it is exp(-Theta(n)).\n"
        ".12^2 is read as the variance of Laplace's law too."
    )

    @classmethod
    def compute(
        cls, *, full: bool = False, store: Path | None = None, progress: Progress | None = None
    ) -> GradientSettingsFigure:
        """Estimate the four panels: 50 databases of each law up to n = 169, or 1000 to 625."""
        sizes, n_databases = (_FULL_SIZES, 1000) if full else (_SIZES, 50)
        computed = run_cells(
            cls.name,
            [(list(laws), n, n_databases) for laws in _SETTINGS for n in sizes],
            gradient_row,
            store=store,
            progress=progress,
        )
        rows = [read_gradient_row(row) for row in computed]
        panels = []
        for panel, laws in enumerate(_SETTINGS):
            panel_rows = rows[panel * len(sizes) : (panel + 1) * len(sizes)]
            panels.append(
                Panel(
                    f"({panel + 1}) {' or '.join(map(_described, laws))}",
                    "records",
                    "log10 of smoothed delta",
                    sizes,
                    _curves(panel_rows),
                )
            )
        return cls(tuple(panels))


def _curves(rows: list[GradientRow]) -> dict[str, list[float]]:
    lower = [row.log_lower / _LN10 if row.log_lower > -math.inf else math.nan for row in rows]
    # A line needs two points; with few databases the interval begins at 0 nearly everywhere.
    drawn = sum(map(math.isfinite, lower)) > 1
    return {
        "estimate": [row.log_estimate / _LN10 for row in rows],
        "99% upper end": [row.log_upper / _LN10 for row in rows],
        "ordinary DP, T/n": [math.log10(row.n_draws / row.n_records) for row in rows],
        **({"99% lower end": lower} if drawn else {}),
    }


def _described(law: tuple[str, str, str]) -> str:
    family, mean, std = law
    return f"{'N' if family == 'normal' else 'L'}({mean}, {std}^2)"
