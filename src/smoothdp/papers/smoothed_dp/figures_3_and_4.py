"""Figures 3 and 4 of paper 1, recomputed: elections in other settings, and by two models."""

from __future__ import annotations

import math
from pathlib import Path
from typing import ClassVar

from smoothdp.papers.panel_figure import PanelFigure
from smoothdp.papers.reproduction import Progress
from smoothdp.papers.runner import run_cells
from smoothdp.papers.smoothed_dp.decay import ORDINARY_DP
from smoothdp.papers.smoothed_dp.elections import elections
from smoothdp.papers.smoothed_dp.figure_1 import ElectionRow, election_row
from smoothdp.papers.smoothed_dp.figure_2 import EPSILONS, smoothed_row
from smoothdp.plots.panels import Look, Panel

_LN10 = math.log(10)
_LOST = ("0.002", "0.0001")
_THRESHOLDS = ("0.5", "0.51", "0.6")


class SettingsFigure(PanelFigure):
    """Figure 3 of paper 1: privacy of elections by threshold and share of votes lost."""

    name: ClassVar[str] = "smoothed-dp/3"
    title: ClassVar[str] = "Figure 3 of paper 1: privacy of elections under other settings"
    note: ClassVar[str] = (
        "With 0.01% of the votes lost, elections are private (delta below 1/n) at threshold .6, "
        "as the\npaper says of its panel (d), but not at .51, the threshold of Figure 1. "
        "Threshold .5 is epsilon = 0,\nwhich Definition 2 excludes: delta is a statistical "
        "distance there, and never below 1/n."
    )
    columns: ClassVar[int] = len(_THRESHOLDS)

    @classmethod
    def compute(
        cls, *, full: bool = False, store: Path | None = None, progress: Progress | None = None
    ) -> SettingsFigure:
        """Compute delta(x) and the adversary's utility in six settings.

        All combinations of the thresholds and shares that appendix A.2 names; both sizes are
        the same: all elections.
        """
        years = [election.year for election in elections()]
        settings = [(lost, threshold) for lost in _LOST for threshold in _THRESHOLDS]
        computed = run_cells(
            cls.name,
            [(year, *setting) for setting in settings for year in years],
            election_row,
            store=store,
            progress=progress,
            workers=None if full else 1,
        )
        rows = [ElectionRow(**row) for row in computed]
        panels = [
            _panel(panel, setting, rows[panel * len(years) : (panel + 1) * len(years)])
            for panel, setting in enumerate(settings)
        ]
        return cls(tuple(panels))


def _panel(panel: int, setting: tuple[str, str], rows: list[ElectionRow]) -> Panel:
    lost, threshold = setting
    return Panel(
        f"({'abcdef'[panel]}) {100 * float(lost):g}% lost, threshold {threshold}",
        "election",
        "log10 of delta(x) and utility",
        tuple(row.year for row in rows),
        {
            "delta(x), exact": [row.log_delta / _LN10 for row in rows],
            "adversary's utility": [row.log_utility / _LN10 for row in rows],
            "1/n": [-math.log10(row.n_votes) for row in rows],
            ORDINARY_DP: [math.log10(row.ordinary_dp) for row in rows],
        },
        look=Look(reference=ORDINARY_DP, powers=True),
    )


_MODELS = {"units": "2020 by units", "history": "elections since 1920"}
_LARGEST = {"0.002": 100_000, "0.0001": 1_000_000}
"""The largest n by share lost. Below 1 / share nothing is lost, as T is rounded up."""


class ModelsFigure(PanelFigure):
    """Figure 4 of paper 1: smoothed delta against n, by model and by share of votes lost."""

    name: ClassVar[str] = "smoothed-dp/4"
    title: ClassVar[str] = "Figure 4 of paper 1: smoothed DP of elections, two models"
    note: ClassVar[str] = (
        "Upper bounds, log10. The paper does not name the shares lost; 0.2% and 0.01%, as "
        "elsewhere. The slope\nat epsilon = 7 is the share lost times ln of the most one-sided "
        "share of votes in the model. Ordinary\nDP gives delta = 1 - lost/n, the line at 0."
    )

    @classmethod
    def compute(
        cls, *, full: bool = False, store: Path | None = None, progress: Progress | None = None
    ) -> ModelsFigure:
        """Compute four panels: 8 numbers of voters in each, 25 at the full size."""
        steps = 25 if full else 8
        settings = [(model, lost) for lost in _LARGEST for model in _MODELS]
        computed = run_cells(
            cls.name,
            [
                (model, _LARGEST[lost] * step // steps, lost)
                for model, lost in settings
                for step in range(1, steps + 1)
            ],
            smoothed_row,
            store=store,
            progress=progress,
            workers=None if full else 1,
        )
        panels = []
        for panel, (model, lost) in enumerate(settings):
            rows = computed[panel * steps : (panel + 1) * steps]
            curves = {
                f"epsilon = {epsilon}": [row[2][i] / _LN10 for row in rows]
                for i, epsilon in enumerate(EPSILONS)
            }
            curves["1/n"] = [-math.log10(row[0]) for row in rows]
            curves[ORDINARY_DP] = [math.log10(1 - row[1] / row[0]) for row in rows]
            panels.append(
                Panel(
                    f"({'abcd'[panel]}) {_MODELS[model]}, {100 * float(lost):g}% lost",
                    "voters n",
                    "log10 of smoothed delta",
                    tuple(row[0] for row in rows),
                    curves,
                    look=Look(reference=ORDINARY_DP, powers=True),
                )
            )
        return cls(tuple(panels))
