"""Composition: one certified accountant for everything released.

`laws/` says how items become laws of privacy losses, `routes/` how laws are composed, each route
with stated rounding; `attacks` says what an attacker reaches.
"""

from smoothdp.composition.calibrate import Calibrated, calibrate
from smoothdp.composition.central_limit import CentralLimitEstimate, central_limit_estimate
from smoothdp.composition.compose import compose
from smoothdp.composition.composed_profile import ComposedProfile
from smoothdp.composition.laws.law import HasLossLaws, LossBracket, LossLaw, LossLaws
from smoothdp.composition.parallel import Parallel, compose_parallel, replace_one_parallel
from smoothdp.composition.split_budget import SplitBudget, split_budget

__all__ = [
    "Calibrated",
    "CentralLimitEstimate",
    "ComposedProfile",
    "HasLossLaws",
    "LossBracket",
    "LossLaw",
    "LossLaws",
    "Parallel",
    "SplitBudget",
    "calibrate",
    "central_limit_estimate",
    "compose",
    "compose_parallel",
    "replace_one_parallel",
    "split_budget",
]
