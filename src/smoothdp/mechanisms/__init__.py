"""Mechanisms: what is run on data, each with the guarantee known before it runs."""

from smoothdp.mechanisms.bernoulli_histogram import BernoulliHistogram
from smoothdp.mechanisms.composed import Composed
from smoothdp.mechanisms.gaussian_mechanism import GaussianMechanism
from smoothdp.mechanisms.laplace_mechanism import LaplaceMechanism
from smoothdp.mechanisms.noisy_histogram import NoisySamplingHistogram
from smoothdp.mechanisms.post_processed import PostProcessed
from smoothdp.mechanisms.release_statistic import release
from smoothdp.mechanisms.sampling_average import SamplingAverage
from smoothdp.mechanisms.sampling_histogram import SamplingHistogram
from smoothdp.mechanisms.sampling_winner import SamplingWinner
from smoothdp.mechanisms.smooth.defaults import default_trim
from smoothdp.mechanisms.smooth.interval_release import IntervalRelease
from smoothdp.mechanisms.smooth_noise import SmoothNoise
from smoothdp.mechanisms.stratified import StratifiedHistogram
from smoothdp.mechanisms.subsampled_gaussian import SubsampledGaussian

__all__ = [
    "BernoulliHistogram",
    "Composed",
    "GaussianMechanism",
    "IntervalRelease",
    "LaplaceMechanism",
    "NoisySamplingHistogram",
    "PostProcessed",
    "SamplingAverage",
    "SamplingHistogram",
    "SamplingWinner",
    "SmoothNoise",
    "StratifiedHistogram",
    "SubsampledGaussian",
    "default_trim",
    "release",
]
