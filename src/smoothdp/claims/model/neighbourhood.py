"""Distributions near a given one: how far may the model be wrong?

Each function returns the vertices of a polytope that contains every distribution within a
radius, so what is measured over it holds for all of them.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations, product

from smoothdp.errors import OutOfReach
from smoothdp.exact.balls.balls import divergence_above

Distribution = tuple[Fraction, ...]
_MOST_ATOMS = 12


def within_total_variation(centre: Distribution, radius: Fraction) -> list[Distribution]:
    """Return the vertices of {q : TV(q, centre) <= radius}, exactly.

    A vertex moves mass to one atom, from atoms that it empties and from at most one more.

    >>> within_total_variation((Fraction(1, 2), Fraction(1, 2)), Fraction(1, 10))
    [(Fraction(3, 5), Fraction(2, 5)), (Fraction(2, 5), Fraction(3, 5))]
    """
    atoms = range(len(centre))
    _refuse_beyond(len(centre))
    corners: dict[Distribution, None] = {}
    for receiver in atoms:
        donors = [atom for atom in atoms if atom != receiver]
        if 1 - centre[receiver] <= radius:
            corners[tuple(Fraction(int(atom == receiver)) for atom in atoms)] = None
            continue
        for size in range(len(donors)):
            for emptied in combinations(donors, size):
                left = radius - sum((centre[atom] for atom in emptied), Fraction(0))
                for last in donors:
                    if last not in emptied and 0 <= left <= centre[last]:
                        q = [Fraction(0) if atom in emptied else centre[atom] for atom in atoms]
                        q[last] -= left
                        q[receiver] += radius
                        corners[tuple(q)] = None
    return list(corners)


def within_divergence(centre: Distribution, radius: Fraction) -> list[Distribution]:
    """Return vertices of a polytope around {q : KL(q, centre) <= radius} (in nats).

    By data processing each probability lies in an interval of its own, where the divergence
    of two Bernoulli laws is at most the radius; with two atoms that is all.

    >>> ends = within_divergence((Fraction(1, 2), Fraction(1, 2)), Fraction(1, 50))
    >>> 0.39 < float(min(ends)[0]) < 0.41
    True
    """
    _refuse_beyond(len(centre))
    limits = [(_lowest(p, radius), 1 - _lowest(1 - p, radius)) for p in centre]
    corners: dict[Distribution, None] = {}
    # All but one coordinate of a vertex are at a limit; the free one makes the sum 1.
    for free in range(len(centre)):
        for ends in product((0, 1), repeat=len(centre) - 1):
            others = [limits[i] for i in range(len(centre)) if i != free]
            values = [limit[end] for limit, end in zip(others, ends, strict=True)]
            rest = 1 - sum(values, Fraction(0))
            if limits[free][0] <= rest <= limits[free][1]:
                corners[(*values[:free], rest, *values[free:])] = None
    return list(corners)


def _lowest(p: Fraction, radius: Fraction) -> Fraction:
    """Return a rational number just below the least q with KL(q, p) <= radius."""
    low, high = Fraction(0), p
    if p == 0 or not divergence_above(low, p, radius):
        return low
    for _ in range(60):
        middle = (low + high) / 2
        if divergence_above(middle, p, radius):
            low = middle
        else:
            high = middle
    return low


def _refuse_beyond(n_atoms: int) -> None:
    if n_atoms > _MOST_ATOMS:
        raise OutOfReach(
            expected=f"at most {_MOST_ATOMS} values in a widened model",
            got=f"{n_atoms}",
            remedy="Merge values, or give the vertices yourself",
        )
