"""Mechanisms: what is run on data, each with the guarantee known before it runs."""

from smoothdp.mechanisms.bernoulli_histogram import BernoulliHistogram
from smoothdp.mechanisms.sampling_histogram import SamplingHistogram

__all__ = ["BernoulliHistogram", "SamplingHistogram"]
