"""The samplings of a training run, as mechanisms that the accountant composes."""

from smoothdp.training_runs.subsampled_gaussian import SubsampledGaussian

__all__ = ["SubsampledGaussian"]
