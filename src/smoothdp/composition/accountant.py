"""Collecting the laws of all items, for each orientation and each depth of the grid pairs."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Literal

from smoothdp.claims.curves.profile import PrivacyProfile
from smoothdp.claims.guarantees.concentrated import ZCDP, TruncatedCDP
from smoothdp.claims.neighbours import Neighbours
from smoothdp.claims.terms import AverageTerms, EpsilonTerms, RhoTerms
from smoothdp.composition.epsilon_ends import (
    Guess,
    likely_epsilon,
    normal_epsilon,
    one_loss_epsilon,
)
from smoothdp.composition.items import Item
from smoothdp.composition.laws.grid_pair import FAR_QUERY, grid_pair
from smoothdp.composition.laws.law import GaussianLaw, LossBracket, LossLaw
from smoothdp.composition.laws.product import Product
from smoothdp.composition.routes.contour import Nearby, Progress
from smoothdp.composition.routes.solver import Solver
from smoothdp.errors import OutOfReach
from smoothdp.exact.balls.balls import log_bounds
from smoothdp.exact.balls.compare import at_most
from smoothdp.exact.logspace.bounds import LogBounds, log_sum_lower, log_sum_upper
from smoothdp.exact.parameters.numbers import LogRatio, Real

Orientation = Literal["common", "any"] | None
"""None: "any" for replace_one; "common" where only one of two neighbours has the record."""
# ln of the delta down to which a grid pair is good.
_DEPTHS = (-60.0, -200.0, -800.0, -3200.0)
_GRID_TOLERANCE = 1e-3
# A guess by the saddle point is worth while within this of ln delta; another where items are few.
_NEAR = 5.0
_USUAL = 1.25
_FEW = 8


def is_aligned(orientation: Orientation, neighbours: Neighbours) -> bool:
    """Return whether items of these neighbours are composed in a common orientation."""
    if orientation is None:
        return neighbours is not Neighbours.REPLACE_ONE
    return orientation == "common"


@dataclass(frozen=True, eq=False)
class Side:
    """Solvers above and below, for one orientation."""

    upper: Solver
    lower: Solver | None


@dataclass(eq=False)
class Accountant:
    """Bounds of ln delta of everything together."""

    items: Sequence[tuple[Item, int]]
    orientation: Orientation
    tolerance: float
    progress: Progress | None = None
    patient: bool = True
    _sides: dict[int, list[Side]] = field(default_factory=dict)
    _grids: dict[tuple[int, int], LossBracket] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.parts = _merge_concentrated(self.items)
        self.has_grid = any(item.laws is None for item, _ in self.parts)
        self.log_smoothed = _log_smoothed_delta(self.items)
        self.total_rho = _total_rho(self.items)
        self.total_epsilon = _total_epsilon(self.parts)

    @property
    def neighbours(self) -> Neighbours:
        """The neighbour relation of all items."""
        return self.items[0][0].neighbours

    @property
    def aligned(self) -> bool:
        """Whether one and the same of two neighbours comes first in all items that say so."""
        return is_aligned(self.orientation, self.neighbours)

    @property
    def two_ways(self) -> bool:
        """Whether delta is the larger one of two products, one for each common orientation."""
        return self.aligned and any(item.directions for item, _ in self.parts)

    @property
    def single(self) -> PrivacyProfile | None:
        """The one profile that says it all, if nothing has to be composed."""
        if len(self.parts) == 1 and self.parts[0][1] == 1:
            item = self.parts[0][0]
            return item.profile if item.average is None else None
        return None

    @cached_property
    def basic(self) -> tuple[Fraction, Fraction] | None:
        """The sums of epsilons and deltas, which hold together; None if an item has none.

        For smoothed claims, whose deltas add up, too (proofs/optimal-composition#4,
        proofs/composition-at-a-database#5).
        """
        epsilon = delta = Fraction(0)
        for item, count in self.items:
            terms = item.terms
            if not isinstance(terms, EpsilonTerms | AverageTerms):
                return None
            one = terms.epsilon
            if isinstance(one, LogRatio):
                one = Fraction(log_bounds(one.ratio).upper)
            epsilon, delta = epsilon + count * one, delta + count * terms.delta
        return epsilon, delta

    @property
    def route(self) -> str:
        """The name of the method, in a few words."""
        if self.single is not None:
            return "rho adds" if isinstance(self.parts[0][0].terms, RhoTerms) else "one item"
        routes = {side.upper.route for side in self.sides(0)}
        name = " and ".join(sorted(routes))
        return f"{name} over a grid pair" if self.has_grid else name

    def likely_epsilons(self, log_delta: float) -> Iterator[tuple[Guess, float]]:
        """Yield guesses of the epsilon that belongs to a delta, if one law says it all, and how far
        off ln delta may be there for it to be of use; 0: only for what is quick.

        The saddle point is no guide where one loss alone makes the sum large.
        """
        if self.single is not None or self.has_grid or self.log_smoothed is not None:
            return
        solver = self.sides(0)[0].upper
        if solver.route == "exact grouping" or solver.product.largest == -math.inf:
            # Atoms need no guess, and a law without finite losses has none.
            return
        guess = likely_epsilon(solver.product, log_delta)
        normal = normal_epsilon(solver.product, log_delta)
        trusted = guess is not None and (normal is None or guess.epsilon <= _USUAL * normal.epsilon)
        if guess is not None and trusted:
            yield guess, _NEAR
        elif normal is not None:
            yield normal, 0.0
        if len(self.parts) <= _FEW:
            try:
                other = one_loss_epsilon(self._log_sum_of_deltas, log_delta)
            except OutOfReach:
                # An item alone may be out of reach where it is asked here; all together are not.
                other = None
            if normal is not None and (other is None or other.epsilon < normal.epsilon):
                other = normal
            if other is not None:
                yield other, _NEAR if guess is not None and not trusted else math.inf
        if guess is not None:
            yield guess, math.inf

    def near(self, epsilon: float) -> Callable[[float], Nearby] | None:
        """Return a guess of ln delta as a function of epsilons close by, where one is at hand."""
        return self.sides(0)[0].upper.near(epsilon)

    def _log_sum_of_deltas(self, epsilon: Real) -> float:
        logs = [
            item.profile.log_delta_bounds(epsilon).upper + math.log(count)
            for item, count in self.parts
        ]
        top = max(logs)
        if top == -math.inf:
            return top
        return top + math.log(math.fsum(math.exp(value - top) for value in logs))

    def log_bounds(self, epsilon: Real) -> LogBounds:
        """Bound ln delta at an exact epsilon >= 0."""
        if self.single is not None:
            return self.single.log_delta_bounds(epsilon)
        if self.total_epsilon is not None and at_most(self.total_epsilon, epsilon):
            # Beyond the sum of all epsilons only the infinite losses are left
            # (proofs/optimal-composition#4).
            return self._with_smoothed(self.sides(0)[0].upper.product.log_infinite)
        bounds = LogBounds(-math.inf, 0.0)
        for level in range(len(_DEPTHS) if self.has_grid else 1):
            bounds = self._at_level(epsilon, level)
            if bounds.upper > _DEPTHS[level] + math.log(self._n_grids) + 20.0:
                break
        if self.total_rho is not None:
            whole = ZCDP(self.total_rho, neighbours=self.neighbours)
            bounds = LogBounds(
                bounds.lower, min(bounds.upper, whole.log_delta_bounds(epsilon).upper)
            )
        return self._with_smoothed(bounds)

    def log_directed_bounds(self, epsilon: Real, way: int) -> LogBounds:
        """Bound ln delta of one of the two products: 0 with the record first, 1 without it.

        Where there are not two, of the one that covers both directions.
        """
        bounds = LogBounds(-math.inf, 0.0)
        for level in range(len(_DEPTHS) if self.has_grid else 1):
            sides = self.sides(level)
            bounds = self._side_bounds(sides[way if self.two_ways else 0], epsilon)
            if bounds.upper > _DEPTHS[level] + math.log(self._n_grids) + 20.0:
                break
        return bounds

    @property
    def never_zero(self) -> bool:
        """Whether delta is positive at every epsilon: some loss is unbounded, or infinite."""
        lower = [side.lower.product for side in self.sides(0) if side.lower is not None]
        return any(
            product.log_infinite.lower > -math.inf
            or bool(product.gaussian)
            or any(law.largest == math.inf for law, _ in product.parts)
            for product in lower
        )

    @property
    def _n_grids(self) -> int:
        return max(1, sum(count for item, count in self.parts if item.laws is None))

    def _at_level(self, epsilon: Real, level: int) -> LogBounds:
        lower = upper = -math.inf
        for side in self.sides(level):
            if side.upper.surely_below(epsilon, lower):
                # The other way is the worse by far.
                continue
            found = self._side_bounds(side, epsilon)
            lower, upper = max(lower, found.lower), max(upper, found.upper)
        return LogBounds(lower, upper)

    @staticmethod
    def _side_bounds(side: Side, epsilon: Real) -> LogBounds:
        above, lower = side.upper.log_bounds(epsilon), -math.inf
        if side.lower is not None and at_most(epsilon, Fraction(FAR_QUERY)):
            below = above if side.lower is side.upper else side.lower.log_bounds(epsilon)
            lower = below.lower
        return LogBounds(lower, above.upper)

    def _with_smoothed(self, bounds: LogBounds) -> LogBounds:
        """Add s (1 - delta), s the sum of the deltas of the smoothed claims, at most 1.

        The lower end is that of this figure: that the claims imply no smaller one is proved for
        1 - prod (1 - delta_j) in the place of s only (proofs/composition-at-a-database#5).
        """
        share = self.log_smoothed
        if share is None:
            return bounds
        log_s, log_rest = share
        left = bounds.shifted(log_rest)
        return LogBounds(
            log_sum_lower(log_s.lower, left.lower),
            min(0.0, log_sum_upper(log_s.upper, left.upper)),
        )

    # ---- the laws -------------------------------------------------------------------

    def sides(self, level: int) -> list[Side]:
        """Return the solvers at a depth level: one, or one for each common orientation."""
        if level not in self._sides:
            brackets = [
                self._whole(item, position, level) for position, (item, _) in enumerate(self.parts)
            ]
            choices = [brackets]
            if self.two_ways:
                choices = [
                    [
                        item.directions[way] if item.directions else whole
                        for (item, _), whole in zip(self.parts, brackets, strict=True)
                    ]
                    for way in (0, 1)
                ]
            self._sides[level] = [self._side(choice) for choice in choices]
        return self._sides[level]

    def _whole(self, item: Item, position: int, level: int) -> LossBracket:
        if item.laws is not None:
            return item.laws.symmetrised
        key = position, level
        if key not in self._grids:
            tolerance = max(self.tolerance, _GRID_TOLERANCE)
            n_points = -_DEPTHS[level] * math.sqrt(self._n_grids / (8 * tolerance))
            bracket = grid_pair(
                item.profile,
                log_depth=_DEPTHS[level],
                n_points=int(min(max(n_points, 400.0), 4000.0)),
                progress=self.progress,
            )
            if isinstance(item.terms, RhoTerms):
                # The Gaussian mechanism with the same rho meets the claim.
                bracket = LossBracket(bracket.upper, GaussianLaw(2 * item.terms.rho))
            self._grids[key] = bracket
        return self._grids[key]

    def _side(self, brackets: list[LossBracket]) -> Side:
        counts = [count for _, count in self.parts]
        pairs = list(zip(brackets, counts, strict=True))
        upper = Solver(
            Product.of([(bracket.upper, count) for bracket, count in pairs]),
            self.tolerance,
            self.progress,
            self.patient,
        )
        below: list[tuple[LossLaw | GaussianLaw, int]] = []
        for bracket, count in pairs:
            if bracket.lower is None:
                # Nothing is known from below: leaving a mechanism out is a lower bound.
                continue
            below.append((bracket.lower, count))
        if all(bracket.lower is bracket.upper for bracket, _ in pairs):
            return Side(upper, upper)
        if not below:
            return Side(upper, None)
        return Side(upper, Solver(Product.of(below), self.tolerance, self.progress, self.patient))


def _merge_concentrated(items: Sequence[tuple[Item, int]]) -> list[tuple[Item, int]]:
    """Merge equal objects, and all claims in Renyi divergences into one, whose rho is the sum."""
    merged: dict[tuple[int, bool], tuple[Item, int]] = {}
    rho, order, about = Fraction(0), None, None
    for item, count in items:
        terms = item.terms
        if isinstance(terms, RhoTerms):
            rho += count * terms.rho
            about = item.neighbours
            if terms.omega is not None:
                order = terms.omega if order is None else min(order, terms.omega)
        else:
            first, before = merged.get(item.key, (item, 0))
            merged[item.key] = first, before + count
    result = list(merged.values())
    if about is not None:
        claim = (
            ZCDP(rho, neighbours=about)
            if order is None
            else TruncatedCDP(rho, omega=order, neighbours=about)
        )
        result.append((Item(claim, claim.profile()), 1))
    return result


def _total_rho(items: Sequence[tuple[Item, int]]) -> Fraction | None:
    """Return the sum of rho, if some claim is in zCDP and all have one."""
    if not any(isinstance(item.terms, RhoTerms) for item, _ in items):
        return None
    total = Fraction(0)
    for item, count in items:
        if item.rho is None:
            return None
        total += count * item.rho
    return total


def _total_epsilon(parts: Sequence[tuple[Item, int]]) -> Fraction | None:
    """Return the sum of the epsilons, if all items are pure or approximate with rational ones."""
    total = Fraction(0)
    for item, count in parts:
        terms = item.terms
        if not isinstance(terms, EpsilonTerms | AverageTerms):
            return None
        if not isinstance(terms.epsilon, Fraction):
            return None
        total += count * terms.epsilon
    return total


def _log_smoothed_delta(
    items: Sequence[tuple[Item, int]],
) -> tuple[LogBounds, LogBounds] | None:
    """Return ln of s and of 1 - s, s = min(1, sum of the deltas of smoothed claims).

    At a fixed database each claim has some delta_j(x); together they lose
    1 - prod (1 - delta_j(x)) <= sum delta_j(x), whose expectation is at most s
    (proofs/composition-at-a-database#5).
    """
    deltas = [count * item.average.delta for item, count in items if item.average is not None]
    if not deltas:
        return None
    share = min(Fraction(1), sum(deltas, Fraction(0)))
    nothing = LogBounds(-math.inf, -math.inf)
    return (
        log_bounds(share) if share else nothing,
        log_bounds(1 - share) if share < 1 else nothing,
    )
