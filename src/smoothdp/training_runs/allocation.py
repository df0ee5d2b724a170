"""Random allocation ("balls in bins"): each record joins one of T steps, drawn uniformly."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import ClassVar, NamedTuple

import numpy as np

from smoothdp.claims.curves.atoms import Atoms
from smoothdp.claims.curves.profile import FunctionProfile, PrivacyProfile
from smoothdp.claims.neighbours import Neighbours, read_neighbours
from smoothdp.composition.laws.atoms import AtomsLaw
from smoothdp.composition.laws.law import LossBracket, LossLaws
from smoothdp.composition.laws.symmetrise import directed_law, symmetrised
from smoothdp.errors import IncompatibleClaims, OutOfReach
from smoothdp.exact.logspace.bounds import LIBM_ERROR, UNIT_ROUNDOFF, LogBounds
from smoothdp.exact.parameters.numbers import Parameter, Real, exact_int, exact_positive, exact_text
from smoothdp.sources import Source
from smoothdp.training_runs.directed import Way, read_way
from smoothdp.training_runs.doubled_sums import Sums, sums_around

_LEAST_NOISE, _MOST_NOISE = Fraction(1, 10), 10**6


class _Around(NamedTuple):
    """Atoms of a pair above, and of one below, record first; ln of what their masses are off."""

    above: Atoms
    below: Atoms
    above_error: float
    below_error: float


@dataclass(frozen=True, init=False)
class RandomAllocation:
    """One epoch in which each record joins one of T steps: a Gaussian sum at each.

    With the record the law of all T sums is the mixture over t of N(m e_t, 1), without it N(0, 1),
    m = 1 / noise; this pair dominates every adaptive run. Its likelihood ratio is the mean of T
    independent W = e^(m y - m^2 / 2). Both directions are enclosed by laws of finitely many
    ratios above and below, from one W by doubling.

    Source: proofs/subsampled-steps#5, #6; Chua et al. 2025; Feldman, Shenfeld 2025.

    Args:
        steps: T >= 1.
        noise_multiplier: standard deviation of the noise over the clipping norm.
        neighbours: "add_remove" (default) or "zero_out".

    Raises:
        InvalidParameter: a parameter outside these domains.
        IncompatibleClaims: replace_one neighbours.
        OutOfReach: noise below 0.1 or above 10^6.

    >>> epoch = RandomAllocation(4, noise_multiplier=2)
    >>> lower, upper = epoch.profile().delta_bounds("0.25")
    >>> round(lower, 4), round(upper, 4)
    (0.027, 0.027)
    """

    source: ClassVar[Source] = Source("own", "proofs/subsampled-steps#5, #6")
    steps: int
    exact_noise: Fraction
    neighbours: Neighbours

    def __init__(
        self,
        steps: int,
        *,
        noise_multiplier: Parameter,
        neighbours: Neighbours | str = Neighbours.ADD_REMOVE,
    ) -> None:
        about = read_neighbours(neighbours)
        if about is Neighbours.REPLACE_ONE:
            raise IncompatibleClaims(
                expected="neighbours add_remove or zero_out for random allocation",
                got=about.value,
                remedy="Replacing is removing one and adding one: see as_replace_one()",
            )
        object.__setattr__(self, "steps", exact_int(steps, name="steps", minimum=1))
        object.__setattr__(
            self, "exact_noise", exact_positive(noise_multiplier, name="noise_multiplier")
        )
        object.__setattr__(self, "neighbours", about)
        if not _LEAST_NOISE <= self.exact_noise <= _MOST_NOISE:
            raise OutOfReach(
                expected=f"noise between {float(_LEAST_NOISE)} and {_MOST_NOISE} for random "
                "allocation",
                got=f"noise {exact_text(self.exact_noise)}",
                remedy="Change the noise",
            )

    @property
    def _around(self) -> _Around:
        return _enclosed(self.steps, self.exact_noise)

    def profile(self) -> PrivacyProfile:
        """Return the privacy profile of one epoch: the worse of both directions."""
        return FunctionProfile(self._log_delta_bounds, self.neighbours)

    def directed(self, way: Way) -> PrivacyProfile:
        """Return the profile of one direction of one epoch.

        Raises:
            InvalidParameter: a way that is none of "remove" and "add".
        """
        part = self._log_removed if read_way(way, self.neighbours) == "remove" else self._log_added
        return FunctionProfile(part, self.neighbours)

    def _log_delta_bounds(self, epsilon: Real) -> LogBounds:
        first, second = self._log_removed(epsilon), self._log_added(epsilon)
        return LogBounds(max(first.lower, second.lower), max(first.upper, second.upper))

    def _log_removed(self, epsilon: Real) -> LogBounds:
        around = self._around
        return _bounds(around, around.above.log_excess(epsilon), around.below.log_excess(epsilon))

    def _log_added(self, epsilon: Real) -> LogBounds:
        around = self._around
        above, below = _reversed(around.above), _reversed(around.below)
        return _bounds(around, above.log_excess(epsilon), below.log_excess(epsilon))

    def loss_laws(self) -> LossLaws:
        """Return the laws of the privacy loss of one epoch, for composition."""
        return self._laws

    @cached_property
    def _laws(self) -> LossLaws:
        around = self._around
        above = [_law(each, around.above_error) for each in _both(around.above)]
        below = [_law(each, around.below_error) for each in _both(around.below)]
        whole = LossBracket(symmetrised(above[0], above[1]).upper, below[0])
        return LossLaws(
            self.neighbours,
            whole,
            (LossBracket(above[0], below[0]), LossBracket(above[1], below[1])),
        )

    def describe(self) -> str:
        """Return the epoch in words."""
        return f"one of {self.steps} steps for each record, noise {self.exact_noise}"


def _reversed(atoms: Atoms) -> Atoms:
    return Atoms(atoms.log_q, atoms.log_p, atoms.error)


def _both(atoms: Atoms) -> tuple[Atoms, Atoms]:
    return atoms, _reversed(atoms)


def _law(atoms: Atoms, error: float) -> AtomsLaw:
    """Return the law of the loss of p against q, whose masses are all off by the same factor."""
    law = directed_law(atoms)
    return replace(law, distance=law.distance._replace(mass=law.distance.mass + error))


def _bounds(around: _Around, above: LogBounds, below: LogBounds) -> LogBounds:
    upper = above.upper + around.above_error
    if upper > -math.inf:
        upper = min(0.0, math.nextafter(upper, math.inf))
    return LogBounds(min(upper, math.nextafter(below.lower - around.below_error, -math.inf)), upper)


@lru_cache(maxsize=32)
def _enclosed(steps: int, noise: Fraction) -> _Around:
    above, below = sums_around(1 / noise, steps)
    return _Around(
        _pair(above, steps, lost=True),
        _pair(below, steps, lost=False),
        above.error,
        below.error,
    )


def _pair(sums: Sums, steps: int, *, lost: bool) -> Atoms:
    """Return masses p = q R and q of a mean of ratios R; what is lost has no other one."""
    kept = (sums.masses > 0) & (sums.points > 0)
    log_q = np.log(sums.masses[kept])
    log_p = log_q + np.log(sums.points[kept] / steps)
    if lost:
        # At the point 0 the first law has nothing; of the rest at most so much.
        nothing = math.fsum(sums.masses[~kept].tolist()) + sums.lost
        log_p = np.append(log_p, [math.log(sums.lost_mean / steps), -math.inf])
        log_q = np.append(log_q, [-math.inf, math.log(nothing)])
    size = max(float(np.abs(each[np.isfinite(each)]).max()) for each in (log_p, log_q))
    rounding = 8 * LIBM_ERROR + 8 * UNIT_ROUNDOFF * size
    return Atoms(log_p, log_q, sums.shift + rounding)
