"""Composition: one certified accountant for everything released.

A file is one notion: the laws of privacy losses (`laws`, `atoms_law`,
`subsampled_law`), how items become laws (`items`, `symmetrise`, `grid_pair`), and how laws are
composed (`product`, `contour`, `inversion`, `grouping`, `solver`).
"""

from smoothdp.privacy.composition.compose import compose
from smoothdp.privacy.composition.composed_profile import ComposedProfile
from smoothdp.privacy.composition.laws import HasLossLaws, LossBracket, LossLaw, LossLaws

__all__ = ["ComposedProfile", "HasLossLaws", "LossBracket", "LossLaw", "LossLaws", "compose"]
