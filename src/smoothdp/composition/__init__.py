"""Composition: one certified accountant for everything released.

`laws/` says how items become laws of privacy losses, `routes/` how laws are composed, each route
with stated rounding; `attacks` says what an attacker reaches.
"""

from smoothdp.composition.compose import compose
from smoothdp.composition.composed_profile import ComposedProfile
from smoothdp.composition.laws.law import HasLossLaws, LossBracket, LossLaw, LossLaws

__all__ = ["ComposedProfile", "HasLossLaws", "LossBracket", "LossLaw", "LossLaws", "compose"]
