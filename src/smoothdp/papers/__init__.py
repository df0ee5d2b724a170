"""Each paper's tables, figures and verdicts, recomputed."""

from smoothdp.papers.smoothed_dp_figure_1 import ElectionFigure
from smoothdp.papers.smoothed_dp_figure_2 import SmoothedElectionFigure
from smoothdp.papers.smoothed_dp_figure_2_right import GradientFigure

FIGURES: dict[str, type[ElectionFigure | SmoothedElectionFigure | GradientFigure]] = {
    "smoothed-dp/1": ElectionFigure,
    "smoothed-dp/2": SmoothedElectionFigure,
    "smoothed-dp/2-right": GradientFigure,
}
"""Figures by name, as ``smoothdp papers figure NAME`` takes it."""

__all__ = ["FIGURES", "ElectionFigure", "GradientFigure", "SmoothedElectionFigure"]
