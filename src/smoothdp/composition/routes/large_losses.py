"""Deep deltas of laws with a heavy tail: by how many of the losses are large.

Where a sum is large because one loss is, a tilt of all losses alike is far from what happens, and
double precision falls short. Let J be the number of losses beyond a cut. Then

    delta = E[f; J = 0] + E[f; J = 1] + E[f; J = 2] + E[f; J >= 3],   f = (1 - e^(e - S))_+ <= 1,

all terms >= 0. The first three are compositions of heads and tails of the laws, summed each with
a tilt of its own; the last is at most (sum P(large))^3 / 6. A low cut leaves much to the last
term and a wide tail, whose tilted bulk is far from epsilon; a high cut leaves a wide head. Of
several cuts the one is taken whose largest rest, or size of terms times rounding, is least.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, field

from smoothdp.composition.laws.law import GaussianLaw, LossLaw, Split
from smoothdp.composition.laws.product import Product
from smoothdp.composition.routes.inversion import Inversion
from smoothdp.exact.logspace.bounds import (
    LOG_ZERO,
    UNIT_ROUNDOFF,
    LogBounds,
    log_difference_lower,
    log_sum_lower,
    log_sum_upper,
)

_SHARES = (0.35, 0.5, 0.6, 0.7, 0.8, 0.9)
# Rounding, relative to the size at the saddle.
_LOG_ROUNDING = -33.0
# More different laws with tails than this make too many pairs of them.
_MOST_LAWS = 4
_KEPT = 24
# A term whose ln is further below that of the width of the others is bounded only.
_NEGLIGIBLE = 7.0

Laws = list[tuple[LossLaw | GaussianLaw, int]]


@dataclass(frozen=True, eq=False)
class Term:
    """A composition, and ln of how many times it counts."""

    log_times: float
    inversion: Inversion

    def log_size(self, epsilon: float) -> float:
        """Return about ln of what its rounding is relative to."""
        return self.log_times + self.inversion.log_size(epsilon)

    def log_most(self, epsilon: float) -> float:
        """Return a float not below ln of what it adds, by Markov's inequality alone."""
        if epsilon >= self.inversion.product.largest:
            return -math.inf
        tilt = self.inversion.product.saddle(epsilon, start=self.inversion.start)
        found = self.inversion.product.log_chernoff(epsilon, tilt)
        return found + self.log_times + 4 * UNIT_ROUNDOFF * (abs(found) + self.log_times + 1)

    def log_bounds(self, epsilon: float) -> LogBounds:
        """Bound ln of what it adds."""
        found, times = self.inversion.log_bounds(epsilon), self.log_times
        if found == LOG_ZERO:
            return LOG_ZERO
        slip = 4 * UNIT_ROUNDOFF * (abs(found.upper) + times + 1)
        return LogBounds(found.lower + times - slip, found.upper + times + slip)


@dataclass(frozen=True, eq=False)
class Cut:
    """The terms of a cut, and a float not below ln of the last, J >= 3."""

    terms: list[Term]
    log_rest: float

    def looseness(self, epsilon: float) -> float:
        """Return about ln of the width of the bracket."""
        sizes = [term.log_size(epsilon) + _LOG_ROUNDING for term in self.terms]
        return max(self.log_rest, *sizes)

    def log_bounds(self, epsilon: float) -> LogBounds:
        """Bound ln delta of the finite losses."""
        total = LogBounds(LOG_ZERO.lower, self.log_rest)
        sizes = [(term.log_most(epsilon), place) for place, term in enumerate(self.terms)]
        for most, place in sorted(sizes, reverse=True):
            # What is far below the width of all so far is not worth a contour.
            width = log_difference_lower(total.upper, total.lower)
            found = LogBounds(-math.inf, most)
            if most > width - _NEGLIGIBLE:
                found = self.terms[place].log_bounds(epsilon)
            total = LogBounds(
                log_sum_lower(total.lower, found.lower), log_sum_upper(total.upper, found.upper)
            )
        return total


@dataclass(eq=False)
class LargeLosses:
    """Bounds of ln delta of the finite losses of a product."""

    product: Product
    tolerance: float
    patient: bool = True
    _cuts: OrderedDict[tuple[int, ...], Cut] = field(default_factory=OrderedDict)

    def log_bounds(self, epsilon: float) -> LogBounds | None:
        """Return bounds at an epsilon > 0; None where no law has a tail to cut."""
        cuts = [self._cut(share * epsilon) for share in _SHARES]
        known = [cut for cut in cuts if cut is not None]
        if not known:
            return None
        return min(known, key=lambda cut: cut.looseness(epsilon)).log_bounds(epsilon)

    def _cut(self, loss: float) -> Cut | None:
        splits = [law.split(loss) for law, _ in self.product.parts]
        n_tails = sum(split is not None for split in splits)
        if not 0 < n_tails <= _MOST_LAWS:
            return None
        key = tuple(id(split) for split in splits)
        found = self._cuts.get(key)
        if found is None:
            found = self._cuts[key] = self._made(splits)
            while len(self._cuts) > _KEPT:
                self._cuts.popitem(last=False)
        return found

    def _made(self, splits: list[Split | None]) -> Cut:
        log_mass = -math.inf
        for split, (_, count) in zip(splits, self.product.parts, strict=True):
            if split is not None:
                log_mass = log_sum_upper(log_mass, split.log_mass + math.log(count) + 1e-12)
        terms = [
            Term(
                math.log(times),
                Inversion(Product.of(laws), self.tolerance, patient=self.patient),
            )
            for times, laws in self._compositions(splits)
        ]
        return Cut(terms, 3 * log_mass - math.log(6) + 1e-9)

    def _compositions(self, splits: list[Split | None]) -> Iterator[tuple[int, Laws]]:
        """Yield how often, and the laws, for each choice of at most two large losses."""
        places = [place for place, split in enumerate(splits) if split is not None]
        choices: list[tuple[int, ...]] = [(), *((place,) for place in places)]
        choices += [(i, j) for i in places for j in places if i <= j]
        for choice in choices:
            times = 1
            found: Laws = [(GaussianLaw(self.product.gaussian), 1)]
            for place, (law, count) in enumerate(self.product.parts):
                split, large = splits[place], choice.count(place)
                if split is None:
                    found.append((law, count))
                    continue
                times *= math.comb(count, large)
                parts = (split.head, count - large), (split.tail, large)
                found += [(part, n) for part, n in parts if n > 0]
            if times:
                yield times, found
