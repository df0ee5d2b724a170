"""Mechanisms: programs that are run on data, each with the guarantee known before it runs."""

from smoothdp.mechanisms.additive.discrete_gaussian import DiscreteGaussianMechanism
from smoothdp.mechanisms.additive.discrete_laplace import DiscreteLaplaceMechanism
from smoothdp.mechanisms.additive.gaussian import GaussianMechanism
from smoothdp.mechanisms.additive.laplace import LaplaceMechanism
from smoothdp.mechanisms.average.sampling_average import SamplingAverage
from smoothdp.mechanisms.composed import Composed
from smoothdp.mechanisms.fixed.skewed_noise import SkewedNoise
from smoothdp.mechanisms.fixed.sum_noise import SumNoise
from smoothdp.mechanisms.histogram.bernoulli_histogram import BernoulliHistogram
from smoothdp.mechanisms.histogram.noisy_histogram import NoisySamplingHistogram
from smoothdp.mechanisms.histogram.post_processed import PostProcessed
from smoothdp.mechanisms.histogram.sampling_histogram import SamplingHistogram
from smoothdp.mechanisms.histogram.stratified import StratifiedHistogram
from smoothdp.mechanisms.private_size.bought_size import BoughtSize
from smoothdp.mechanisms.quantiles.exponential.exponential_quantile import ExponentialQuantile
from smoothdp.mechanisms.quantiles.half_shift.half_shift import HalfShift
from smoothdp.mechanisms.quantiles.joint.exponential_quantiles import JointExponentialQuantiles
from smoothdp.mechanisms.quantiles.quantiles_release import QuantilesRelease
from smoothdp.mechanisms.release.bars.interval_release import IntervalRelease
from smoothdp.mechanisms.release.defaults import default_trim
from smoothdp.mechanisms.release.release import release
from smoothdp.mechanisms.release.smooth_noise import SmoothNoise
from smoothdp.mechanisms.voting.sampling_winner import SamplingWinner

__all__ = [
    "BernoulliHistogram",
    "BoughtSize",
    "Composed",
    "DiscreteGaussianMechanism",
    "DiscreteLaplaceMechanism",
    "ExponentialQuantile",
    "GaussianMechanism",
    "HalfShift",
    "IntervalRelease",
    "JointExponentialQuantiles",
    "LaplaceMechanism",
    "NoisySamplingHistogram",
    "PostProcessed",
    "QuantilesRelease",
    "SamplingAverage",
    "SamplingHistogram",
    "SamplingWinner",
    "SkewedNoise",
    "SmoothNoise",
    "StratifiedHistogram",
    "SumNoise",
    "default_trim",
    "release",
]
