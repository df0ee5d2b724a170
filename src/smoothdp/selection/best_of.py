"""The best of a random number of runs of one mechanism: private selection."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

from smoothdp.claims.curves.profile import FunctionProfile, PrivacyProfile
from smoothdp.claims.neighbours import Neighbours
from smoothdp.composition.items import Item, read_items
from smoothdp.composition.laws.around import atoms_around
from smoothdp.composition.laws.atoms import AtomsLaw
from smoothdp.composition.laws.grid_pair import grid_pair
from smoothdp.composition.laws.law import LossBracket
from smoothdp.errors import IncompatibleClaims, InvalidParameter
from smoothdp.exact.logspace.bounds import LogBounds
from smoothdp.exact.parameters.numbers import Real
from smoothdp.selection.cells import Cells
from smoothdp.selection.chords import Chords
from smoothdp.selection.counts import RunCount
from smoothdp.selection.layers import Layers
from smoothdp.selection.nested import Nested
from smoothdp.sources import Source

# ln of the least delta of one run that is told apart, and points of its profile.
_DEPTH, _N_POINTS = -100.0, 1600


@dataclass(frozen=True, init=False, eq=False)
class BestOf:
    """A mechanism run K times, K random, of which only the run with the best score is published.

    Hyperparameters chosen with the data: each run draws its own (from a law fixed without the
    data), trains, and scores what came out. If K = 0, nothing is published. With f(s) = E[s^K] and
    D the profile of one run, score included, a run that beats a share u of all runs under one
    database and v under the other is published with f'(u) and f'(v) times its density, and

        D_best(E) <= integral of D(E B'(a)) over a from 0 to E[K],

    B the largest convex function with B(f'(u)) <= f'(v) at all type I and II errors that D allows.
    Where it is smaller, another bound counts: with G the largest power at each type I error,
    G(0) E[K] and the integral over x of the largest of (f'(G(y) - G(x)) G'(x) - E f'(y - x))_+
    over y >= x. Both are bounds for every score. The lower ends of `profile()` are what one bad
    score costs, of a run that attains D; a score of pure chance costs no more than one run.

    What must hold: K, and whatever shows it (the time of all runs, the energy, a bill), stays
    secret; it is drawn without the data (`count.draw()`). Score and output of a run are covered by
    its claim together, and the order of scores is fixed without the data. All other outputs are
    thrown away, and the runs are independent: no run learns from another.

    Source: proofs/repeat-and-select#1 (shifted profiles), #3 (nested intervals), #5, #7.

    Args:
        item: a guarantee, mechanism, training run, pair, profile or composition: one run, with
            its score.
        count: the law of K: `PoissonCount`, `NegativeBinomialCount` or `FixedCount`.

    Raises:
        InvalidParameter: a count of another kind, or an item without a profile.
        IncompatibleClaims: a claim on average over a model.

    >>> import smoothdp as sd
    >>> search = sd.BestOf(sd.GaussianDP("0.3"), count=sd.PoissonCount(10))
    >>> lower, upper = search.profile().epsilon_bounds("1e-6")
    >>> print(f"at most {upper:.3f}, and at least {lower:.3f} for the worst score")
    at most 2.389, and at least 2.386 for the worst score
    >>> round(sd.compose([search, sd.GaussianDP("0.3")]).epsilon("1e-6"), 2)
    2.94
    """

    source: ClassVar[Source] = Source("own", "proofs/repeat-and-select#1, #3, #5")
    item: Any
    count: RunCount

    def __init__(self, item: Any, *, count: RunCount) -> None:
        read, times = read_items([item])[0]
        if times != 1 or read.average is not None:
            raise IncompatibleClaims(
                expected="one mechanism, guarantee, pair or profile of ordinary DP",
                got=f"{item!r}",
                remedy="Compose several first; claims on average are not about the best of runs",
            )
        if not isinstance(count, RunCount):
            raise InvalidParameter(
                expected="the law of the number of runs",
                got=f"count={count!r}",
                remedy="Give sd.PoissonCount(10), for example, or sd.NegativeBinomialCount",
            )
        object.__setattr__(self, "item", item)
        object.__setattr__(self, "count", count)

    @cached_property
    def _base(self) -> Item:
        return read_items([self.item])[0][0]

    @cached_property
    def _around(self) -> LossBracket:
        """Laws of one run, of finitely many losses, above and below."""
        return atoms_around(self._base, log_depth=_DEPTH, n_points=_N_POINTS)

    @cached_property
    def _chords(self) -> Chords:
        assert isinstance(self._around.upper, AtomsLaw)
        return Chords.of(self._around.upper)

    @cached_property
    def _layers(self) -> Layers:
        return Layers.of(self._chords, self.count)

    @cached_property
    def _nested(self) -> Nested:
        """Both ends by cells: from below, of a law of certain losses."""
        steepness = self.count.steepness
        below = self._around.lower
        if isinstance(below, AtomsLaw) and below.slack.loss > 0:
            below = grid_pair(self._base.profile, log_depth=_DEPTH, n_points=_N_POINTS).lower
        found = Cells.below(below, steepness) if isinstance(below, AtomsLaw) else None
        return Nested(Cells.above(self._chords, steepness), found, self.count)

    @property
    def neighbours(self) -> Neighbours:
        """The neighbour relation, that of the item."""
        return self._base.neighbours

    def profile(self) -> PrivacyProfile:
        """Return the privacy profile of the selection: around that of the worst score."""
        return FunctionProfile(self._log_delta_bounds, self.neighbours)

    def _log_delta_bounds(self, epsilon: Real) -> LogBounds:
        some, nested = self.count.log_some, self._nested
        upper = min(some.upper, self._layers.log_upper(epsilon), nested.log_upper(epsilon))
        # A score of pure chance publishes one run.
        chance = self._base.profile.log_delta_bounds(epsilon).lower + some.lower
        if math.isfinite(chance):
            chance = math.nextafter(chance, -math.inf)
        return LogBounds(min(upper, max(chance, nested.log_lower(epsilon))), upper)

    def describe(self) -> str:
        """Return the selection in words."""
        return f"the best of {self.count.describe()} of {type(self.item).__name__}"
