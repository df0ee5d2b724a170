"""Laws of finitely many losses around an item, whatever is known of it."""

from __future__ import annotations

from smoothdp.composition.composed_profile import ComposedProfile
from smoothdp.composition.items import Item
from smoothdp.composition.laws.atoms import AtomsLaw
from smoothdp.composition.laws.grid_pair import grid_pair
from smoothdp.composition.laws.law import LossBracket

_N_POINTS_OF_COMPOSITIONS = 400


def atoms_around(item: Item, *, log_depth: float = -120.0, n_points: int = 4000) -> LossBracket:
    """Return atoms of the item's symmetric law, or around it.

    Args:
        log_depth: ln of the delta down to which a profile is turned into atoms.
        n_points: how many points of it; fewer of a composition.

    >>> from smoothdp.claims import PureDP
    >>> from smoothdp.composition.items import read_items
    >>> law = atoms_around(read_items([PureDP(1)])[0][0]).upper
    >>> isinstance(law, AtomsLaw) and law.losses.tolist()
    [1.0, -1.0]
    """
    laws = item.laws
    if laws is not None:
        both = laws.symmetrised
        if isinstance(both.upper, AtomsLaw) and isinstance(both.lower, AtomsLaw | None):
            return both
    composed = isinstance(item.profile, ComposedProfile)
    return grid_pair(
        item.profile,
        log_depth=log_depth,
        n_points=min(n_points, _N_POINTS_OF_COMPOSITIONS) if composed else n_points,
    )
