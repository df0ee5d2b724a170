"""The samplings of a training run, as items of the accountant."""

from smoothdp.training_runs.subsampled_gaussian import SubsampledGaussian

__all__ = ["SubsampledGaussian"]
