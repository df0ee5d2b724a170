"""Figure 3 of paper 1 (appendix A.2), recomputed: elections under other settings."""

from __future__ import annotations

import math
from pathlib import Path
from typing import ClassVar

from smoothdp.papers.panel_figure import PanelFigure
from smoothdp.papers.reproduction import Progress
from smoothdp.papers.runner import run_cells
from smoothdp.papers.smoothed_dp.elections import elections
from smoothdp.papers.smoothed_dp.figure_1 import ElectionRow, election_row
from smoothdp.plots.panels import Panel

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
        found = run_cells(
            cls.name,
            [(year, *setting) for setting in settings for year in years],
            election_row,
            store=store,
            progress=progress,
            workers=None if full else 1,
        )
        rows = [ElectionRow(**row) for row in found]
        panels = [
            _panel(place, setting, rows[place * len(years) : (place + 1) * len(years)])
            for place, setting in enumerate(settings)
        ]
        return cls(tuple(panels))


def _panel(place: int, setting: tuple[str, str], rows: list[ElectionRow]) -> Panel:
    lost, threshold = setting
    return Panel(
        f"({'abcdef'[place]}) {100 * float(lost):g}% lost, threshold {threshold}",
        "election",
        "log10",
        tuple(row.year for row in rows),
        {
            "delta(x), exact": [row.log_delta / _LN10 for row in rows],
            "adversary's utility": [row.log_utility / _LN10 for row in rows],
            "1/n": [-math.log10(row.n_votes) for row in rows],
            "ordinary DP": [math.log10(row.ordinary_dp) for row in rows],
        },
    )
