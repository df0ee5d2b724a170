"""Results in words, tables and pictures, for people."""

from smoothdp.report.measurement import Measurement, measure_histogram

__all__ = ["Measurement", "measure_histogram"]
