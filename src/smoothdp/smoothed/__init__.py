"""Smoothed DP: the expectation of delta(x) over a model of the data (Definition 3, paper 1)."""

from smoothdp.smoothed.result import SmoothedDelta, smoothed_delta

__all__ = ["SmoothedDelta", "smoothed_delta"]
