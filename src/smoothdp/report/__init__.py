"""Results in words, tables and pictures, for people."""

from smoothdp.report.measurement import Measurement, measure_histogram
from smoothdp.text import table, upper_text

__all__ = ["Measurement", "measure_histogram", "table", "upper_text"]
