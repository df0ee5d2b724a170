"""Each paper's tables, figures and verdicts, recomputed."""

from smoothdp.papers.gaussian_shuffling_figures import FixedSetFigure, ShufflingFigure
from smoothdp.papers.polyplace_figures import DensityFigure, DeviationFigure
from smoothdp.papers.smoothed_dp_figure_1 import ElectionFigure
from smoothdp.papers.smoothed_dp_figure_2 import SmoothedElectionFigure
from smoothdp.papers.smoothed_dp_figure_2_right import GradientFigure

Figure = (
    ElectionFigure
    | SmoothedElectionFigure
    | GradientFigure
    | DeviationFigure
    | DensityFigure
    | ShufflingFigure
    | FixedSetFigure
)

FIGURES: dict[str, type[Figure]] = {
    "smoothed-dp/1": ElectionFigure,
    "smoothed-dp/2": SmoothedElectionFigure,
    "smoothed-dp/2-right": GradientFigure,
    "polyplace/1": DeviationFigure,
    "polyplace/2": DensityFigure,
    "gaussian-shuffling/1": ShufflingFigure,
    "gaussian-shuffling/2": FixedSetFigure,
}
"""Figures by name, as ``smoothdp papers figure NAME`` takes it."""

__all__ = [
    "FIGURES",
    "DensityFigure",
    "DeviationFigure",
    "ElectionFigure",
    "Figure",
    "FixedSetFigure",
    "GradientFigure",
    "ShufflingFigure",
    "SmoothedElectionFigure",
]
