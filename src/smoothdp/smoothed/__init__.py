"""Smoothed DP: the expectation of delta(x) over a model of the data (Definition 3, paper 1)."""

from smoothdp.smoothed.interval import DeltaInterval, smoothed_delta_interval
from smoothdp.smoothed.properties import (
    DistributionalDP,
    compose_smoothed,
    smoothed_distribution_reduction,
    smoothed_post_processing,
    smoothed_pre_processing,
    smoothed_to_distributional,
)
from smoothdp.smoothed.result import SmoothedDelta, smoothed_delta

__all__ = [
    "DeltaInterval",
    "DistributionalDP",
    "SmoothedDelta",
    "compose_smoothed",
    "smoothed_delta",
    "smoothed_delta_interval",
    "smoothed_distribution_reduction",
    "smoothed_post_processing",
    "smoothed_pre_processing",
    "smoothed_to_distributional",
]
