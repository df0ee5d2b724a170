"""Exact grouping: compositions of few atoms, equal total losses joined."""

from __future__ import annotations

import numpy as np

from smoothdp.claims.curves.atoms import Atoms
from smoothdp.composition.laws.atoms import AtomsLaw
from smoothdp.composition.laws.product import Product

_MOST_OUTER = 1 << 20
_MOST_WORK = 3 << 20


def grouped(product: Product) -> Atoms | None:
    """Return the joint finite atoms of a product of atoms, or None if they are too many.

    Homogeneous parts by repeated squaring. The masses are those of finite losses only, and
    the error is that of rounding; slacks and infinite losses are the caller's.
    """
    if product.gaussian or any(not isinstance(law, AtomsLaw) for law, _ in product.parts):
        return None
    budget = _Budget(_MOST_WORK)
    result: Atoms | None = None
    for law, count in sorted(product.parts, key=lambda part: part[0].losses.size * part[1]):  # type: ignore[attr-defined]
        assert isinstance(law, AtomsLaw)
        power = _power(_atoms(law), count, budget)
        if power is None:
            return None
        result = power if result is None else budget.times(result, power)
        if result is None:
            return None
    return result


def _atoms(law: AtomsLaw) -> Atoms:
    # The loss is what is exact here: log_q is rounded, as an error of both masses.
    log_q = law.log_masses - law.losses
    size = float(np.abs(log_q).max(initial=0.0))
    return Atoms(law.log_masses, log_q, 2.0**-53 * size)


def _power(base: Atoms, count: int, budget: _Budget) -> Atoms | None:
    result: Atoms | None = None
    while True:
        if count & 1:
            result = base if result is None else budget.times(result, base)
            if result is None:
                return None
        count >>= 1
        if not count:
            return result
        squared = budget.times(base, base)
        if squared is None:
            return None
        base = squared


class _Budget:
    """How many products of atoms may still be formed."""

    def __init__(self, work: int) -> None:
        self.left = work

    def times(self, first: Atoms, second: Atoms) -> Atoms | None:
        size = first.log_p.size * second.log_p.size
        self.left -= size
        if size > _MOST_OUTER or self.left < 0:
            return None
        return first.times(second)
