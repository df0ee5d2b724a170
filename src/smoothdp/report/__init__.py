"""Results in words, tables and pictures, for people."""

from smoothdp.report.collect import collect_histogram, collect_mean, collect_share
from smoothdp.report.collection import Collection
from smoothdp.report.measurement import Measurement, measure_histogram

__all__ = [
    "Collection",
    "Measurement",
    "collect_histogram",
    "collect_mean",
    "collect_share",
    "measure_histogram",
]
