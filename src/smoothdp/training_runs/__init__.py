"""The samplings of a training run, as mechanisms that the accountant composes."""

from smoothdp.training_runs.gaussian_step.mixture_of_gaussians import MixtureOfGaussians
from smoothdp.training_runs.settings import SAMPLINGS
from smoothdp.training_runs.subsampled import Subsampled
from smoothdp.training_runs.subsampled_gaussian import SubsampledGaussian
from smoothdp.training_runs.training import training
from smoothdp.training_runs.training_run import TrainingRun

__all__ = [
    "SAMPLINGS",
    "MixtureOfGaussians",
    "Subsampled",
    "SubsampledGaussian",
    "TrainingRun",
    "training",
]
