"""Results in words, tables and pictures, for people."""

from smoothdp.report.account import Account
from smoothdp.report.collecting.collection import Collection
from smoothdp.report.collecting.histograms import collect_histogram
from smoothdp.report.collecting.sums import collect_mean, collect_share
from smoothdp.report.html import (
    PROTOCOLS,
    HtmlReport,
    report_counts,
    report_model,
    report_plan,
    report_protocol,
    report_release,
)
from smoothdp.report.measurement import Measurement, measure_histogram
from smoothdp.report.noise_comparison import NoiseTable, noise_table
from smoothdp.report.plan_picture import draw_plan
from smoothdp.report.released import released_words
from smoothdp.report.training import TrainingCost

__all__ = [
    "PROTOCOLS",
    "Account",
    "Collection",
    "HtmlReport",
    "Measurement",
    "NoiseTable",
    "TrainingCost",
    "collect_histogram",
    "collect_mean",
    "collect_share",
    "draw_plan",
    "measure_histogram",
    "noise_table",
    "released_words",
    "report_counts",
    "report_model",
    "report_plan",
    "report_protocol",
    "report_release",
]
