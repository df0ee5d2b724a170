"""Smoothed DP: the expectation of delta(x) over a model of the data (Definition 3, paper 1)."""

from smoothdp.smoothed.design import SampleDesign, largest_sample, smoothed_by_size
from smoothdp.smoothed.interval import DeltaInterval, smoothed_delta_interval
from smoothdp.smoothed.largest_expectation import SmoothedDelta, smoothed_delta
from smoothdp.smoothed.properties import (
    DistributionalDP,
    compose_smoothed,
    smoothed_distribution_reduction,
    smoothed_post_processing,
    smoothed_pre_processing,
    smoothed_to_distributional,
)
from smoothdp.smoothed.strata import StrataDelta, smoothed_strata
from smoothdp.smoothed.two_values.two_values import LARGEST_SHARPENED

__all__ = [
    "LARGEST_SHARPENED",
    "DeltaInterval",
    "DistributionalDP",
    "SampleDesign",
    "SmoothedDelta",
    "StrataDelta",
    "compose_smoothed",
    "largest_sample",
    "smoothed_by_size",
    "smoothed_delta",
    "smoothed_delta_interval",
    "smoothed_distribution_reduction",
    "smoothed_post_processing",
    "smoothed_pre_processing",
    "smoothed_strata",
    "smoothed_to_distributional",
]
