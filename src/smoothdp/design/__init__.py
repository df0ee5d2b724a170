"""Design: how many records may be published, and how private one step of training is."""

from smoothdp.design.cells import Cell
from smoothdp.design.cross_table import cross_table
from smoothdp.design.designed import RateDesign
from smoothdp.design.facts import Merge, StratumDesign
from smoothdp.design.noise_option import NoiseOption
from smoothdp.design.rate_design import rate_design
from smoothdp.design.step.sgd_step import SgdStepDelta, sgd_step_delta

__all__ = [
    "Cell",
    "Merge",
    "NoiseOption",
    "RateDesign",
    "SgdStepDelta",
    "StratumDesign",
    "cross_table",
    "rate_design",
    "sgd_step_delta",
]
