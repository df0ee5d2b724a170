"""Each paper's tables, figures and verdicts, recomputed."""

from smoothdp.papers.average_case_averages.private_mean_figure import (
    PrivateMeanFigure2,
    PrivateMeanFigure3,
    PrivateMeanFigure4,
    PrivateMeanFigure5,
    PrivateMeanFigure6,
)
from smoothdp.papers.average_case_averages.trimming_figure import TrimmingFigure
from smoothdp.papers.citations import citations, known_names
from smoothdp.papers.gaussian_shuffling.figures import FixedSetFigure, ShufflingFigure
from smoothdp.papers.panel_figure import PanelFigure
from smoothdp.papers.polyplace.figures import DensityFigure, DeviationFigure
from smoothdp.papers.reproduction import Figure, Reproduction
from smoothdp.papers.shuffled_histograms.samples import SamplesTable
from smoothdp.papers.shuffled_histograms.table_1 import HistogramTable
from smoothdp.papers.smoothed_dp.figure_1 import ElectionFigure
from smoothdp.papers.smoothed_dp.figure_2 import SmoothedElectionFigure
from smoothdp.papers.smoothed_dp.figure_2_right import GradientFigure
from smoothdp.papers.smoothed_dp.figure_5 import GradientSettingsFigure
from smoothdp.papers.smoothed_dp.figures_3_and_4 import ModelsFigure, SettingsFigure
from smoothdp.papers.smoothed_dp.tables import ComparisonTable, NotionsTable, ThreatsTable
from smoothdp.papers.table import PaperTable
from smoothdp.papers.verdicts import STATUSES, verdicts, verdicts_page, verdicts_text
from smoothdp.papers.verify import Verification, counterexamples, verify

FIGURES: dict[str, type[Figure]] = {
    "smoothed-dp/1": ElectionFigure,
    "smoothed-dp/2": SmoothedElectionFigure,
    "smoothed-dp/2-right": GradientFigure,
    "smoothed-dp/3": SettingsFigure,
    "smoothed-dp/4": ModelsFigure,
    "smoothed-dp/5": GradientSettingsFigure,
    "average-case-averages/1": TrimmingFigure,
    "average-case-averages/2": PrivateMeanFigure2,
    "average-case-averages/3": PrivateMeanFigure3,
    "average-case-averages/4": PrivateMeanFigure4,
    "average-case-averages/5": PrivateMeanFigure5,
    "average-case-averages/6": PrivateMeanFigure6,
    "polyplace/1": DeviationFigure,
    "polyplace/2": DensityFigure,
    "gaussian-shuffling/1": ShufflingFigure,
    "gaussian-shuffling/2": FixedSetFigure,
}
"""Figures by name, as ``smoothdp papers figure NAME`` takes it."""

TABLES: dict[str, type[Reproduction]] = {
    "smoothed-dp/1": NotionsTable,
    "smoothed-dp/2": ComparisonTable,
    "smoothed-dp/3": ThreatsTable,
    "shuffled-histograms/1": HistogramTable,
    "shuffled-histograms/samples": SamplesTable,
}
"""Tables by name, as ``smoothdp papers table NAME`` takes it."""

__all__ = [
    "FIGURES",
    "STATUSES",
    "TABLES",
    "ComparisonTable",
    "DensityFigure",
    "DeviationFigure",
    "ElectionFigure",
    "Figure",
    "FixedSetFigure",
    "GradientFigure",
    "GradientSettingsFigure",
    "HistogramTable",
    "ModelsFigure",
    "NotionsTable",
    "PanelFigure",
    "PaperTable",
    "PrivateMeanFigure2",
    "PrivateMeanFigure3",
    "PrivateMeanFigure4",
    "PrivateMeanFigure5",
    "PrivateMeanFigure6",
    "Reproduction",
    "SamplesTable",
    "SettingsFigure",
    "ShufflingFigure",
    "SmoothedElectionFigure",
    "ThreatsTable",
    "TrimmingFigure",
    "Verification",
    "citations",
    "counterexamples",
    "known_names",
    "verdicts",
    "verdicts_page",
    "verdicts_text",
    "verify",
]
