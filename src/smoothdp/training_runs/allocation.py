"""Random allocation ("balls in bins"): each record joins one of T steps, drawn uniformly."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import ClassVar, NamedTuple

import numpy as np

from smoothdp.claims.curves.atoms import Atoms
from smoothdp.claims.curves.profile import FunctionProfile, PrivacyProfile
from smoothdp.claims.neighbours import Neighbours, read_neighbours
from smoothdp.composition.laws.law import LossBracket, LossLaws
from smoothdp.composition.laws.symmetrise import both_directions, directed_law, symmetrised
from smoothdp.errors import IncompatibleClaims, OutOfReach
from smoothdp.exact.balls.balls import real_bounds
from smoothdp.exact.logspace.bounds import (
    LIBM_ERROR,
    UNIT_ROUNDOFF,
    LogBounds,
    log_difference_lower,
)
from smoothdp.exact.parameters.numbers import Parameter, Real, exact_int, exact_positive, exact_text
from smoothdp.sources import Source
from smoothdp.training_runs.directed import Way, read_way
from smoothdp.training_runs.lattice import BITS, Lattice, lattices, of_sums
from smoothdp.types import FloatArray

# The lattice's points, and the share of the variance of W that a cell may add.
_MOST_POINTS = 1 << 16
_VARIANCE = 1e-4
# The same for figures that are only to be compared: a third as many points, wider bounds.
_COARSE_VARIANCE = 1e-3
_WORST_VARIANCE = 0.1
# How many standard deviations of y the lattice holds, if it can, and at least.
_REACHES = (7.0, 6.5, 6.0)
# Cells of the mean of T ratios: a share of its deviation, and of the distance from 1.
_CELL = 0.02
_FAR_CELL = 0.005
_EXTRA = 64
# The lattice begins so many standard deviations of y below the middle.
_LOW_REACH = 9.0
_LEAST_NOISE, _MOST_NOISE = Fraction(1, 4), 10**6


class _Around(NamedTuple):
    """Atoms of a pair above, and of one below, record first; and ln of what its mean lacks."""

    above: Atoms
    below: Atoms
    log_lacking: float


@dataclass(frozen=True, init=False)
class RandomAllocation:
    """One epoch in which each record joins one of T steps: a Gaussian sum at each.

    With the record the law of all T sums is the mixture over t of N(m e_t, 1), without it N(0, 1),
    m = 1 / noise; this pair dominates every adaptive run. Its likelihood ratio is the mean of T
    independent W = e^(m y - m^2 / 2). Both directions are enclosed by lattice laws of W, of
    which the sums are exact but for stated rounding.

    Source: proofs/subsampled-steps#5, #6; Chua et al. 2025; Feldman, Shenfeld 2025.

    Args:
        steps: T >= 1.
        noise_multiplier: standard deviation of the noise over the clipping norm.
        neighbours: "add_remove" (default) or "zero_out".

    Raises:
        InvalidParameter: a parameter outside these domains.
        IncompatibleClaims: replace_one neighbours.
        OutOfReach: so little noise that no lattice of 65,536 points holds W.

    >>> epoch = RandomAllocation(4, noise_multiplier=2)
    >>> lower, upper = epoch.profile().delta_bounds("0.25")
    >>> round(lower, 4), round(upper, 4)
    (0.027, 0.027)
    """

    source: ClassVar[Source] = Source("own", "proofs/subsampled-steps#5, #6")
    steps: int
    exact_noise: Fraction
    neighbours: Neighbours
    variance: float = field(default=_VARIANCE, repr=False, compare=False)

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
        _shape(self.steps, self.exact_noise)

    @property
    def _around(self) -> _Around:
        return _enclosed(self.steps, self.exact_noise, self.variance)

    def coarse(self) -> RandomAllocation:
        """Return the same epoch on a lattice of fewer points: wider bounds in less time."""
        same = RandomAllocation(
            self.steps, noise_multiplier=self.exact_noise, neighbours=self.neighbours
        )
        object.__setattr__(same, "variance", _COARSE_VARIANCE)
        return same

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
        upper = around.above.log_excess(epsilon).upper
        return LogBounds(min(upper, around.below.log_excess(epsilon).lower), upper)

    def _log_added(self, epsilon: Real) -> LogBounds:
        above, below, log_lacking = self._around
        upper = Atoms(above.log_q, above.log_p, above.error).log_excess(epsilon).upper
        # 1 - E + E E(R - 1/E)_+, whose last term is that of a law below.
        lower = Atoms(below.log_q, below.log_p, below.error).log_excess(epsilon).lower
        lost = math.nextafter(log_lacking + real_bounds(epsilon).upper, math.inf)
        return LogBounds(min(upper, log_difference_lower(lower, lost)), upper)

    def loss_laws(self) -> LossLaws:
        """Return the laws of the privacy loss of one epoch, for composition."""
        return self._laws

    @cached_property
    def _laws(self) -> LossLaws:
        around = self._around
        first, second = both_directions(around.above)
        lower = directed_law(around.below)
        whole = LossBracket(symmetrised(first, second).upper, lower)
        return LossLaws(
            self.neighbours, whole, (LossBracket(first, lower), LossBracket(second, None))
        )

    def describe(self) -> str:
        """Return the epoch in words."""
        return f"one of {self.steps} steps for each record, noise {self.exact_noise}"


class _Shape(NamedTuple):
    places: int
    length: int
    offset: int


def _shape(steps: int, noise: Fraction, share: float = _VARIANCE) -> _Shape:
    """Return the step 2^-places of the lattice and its points, or raise OutOfReach."""
    if not _LEAST_NOISE < noise < _MOST_NOISE:
        raise OutOfReach(
            expected=f"noise between {float(_LEAST_NOISE)} and {_MOST_NOISE} for random allocation",
            got=f"noise {exact_text(noise)}",
            remedy="Change the noise",
        )
    m = float(1 / noise)
    variance = math.expm1(m * m)
    least = math.exp(-_LOW_REACH * m - m * m / 2)
    wanted = math.sqrt(6 * share * variance)
    for reach in _REACHES:
        far = math.exp(min(m * m / 2 + reach * m, 700.0))
        end = steps * (1 - least) + 8 * math.sqrt(steps * variance) + far - least
        step = max(wanted, end / _MOST_POINTS)
        if step <= 2 * wanted:
            break
    places = math.floor(-math.log2(step))
    if end * 2.0**places > _MOST_POINTS:
        places -= 1
    width = 2.0**-places
    if width * width / 6 > _WORST_VARIANCE * variance:
        raise OutOfReach(
            expected="noise and steps whose likelihood ratio a lattice of 65,536 points holds",
            got=f"noise {float(noise):g}, {steps} steps an epoch",
            remedy="Raise the noise, if it is small; else have fewer steps an epoch",
        )
    length = min(_MOST_POINTS, math.ceil(end / width) + 2)
    return _Shape(places, length, math.floor(least / width))


@lru_cache(maxsize=32)
def _enclosed(steps: int, noise: Fraction, share: float) -> _Around:
    shape = _shape(steps, noise, share)
    above, below = (of_sums(law, steps) for law in lattices(1 / noise, **shape._asdict()))
    deviation = math.sqrt(math.expm1(float(1 / noise) ** 2) / steps)
    edges = _edges(steps, above, deviation)
    upper = _spread(above, edges, steps)
    lower, log_lacking = _merged(below, edges, steps)
    return _Around(upper, lower, log_lacking)


def _edges(steps: int, law: Lattice, deviation: float) -> list[int]:
    """Return indices of the lattice that bound the cells of the mean."""
    unit = 2.0**law.places * steps
    length = len(law.masses)
    edges, at = [0], 0
    while at < length - 1:
        cell = _CELL * deviation + _FAR_CELL * abs((law.offset + at) / unit - 1)
        at = min(length - 1, at + max(1, int(cell * unit)))
        edges.append(at)
    return edges


def _spread(law: Lattice, edges: list[int], steps: int) -> Atoms:
    """Return the pair above: each cell's mass at its ends, its mean kept; the rest infinite."""
    found = [0] * len(edges)
    for number, (low, high) in enumerate(itertools.pairwise(edges)):
        # The last cell has its right end.
        stop = high + 1 if number == len(edges) - 2 else high
        total = moved = 0
        for k in range(low, stop):
            total += law.masses[k]
            moved += law.masses[k] * (k - low)
        right = (moved << _EXTRA) // (high - low)
        found[number + 1] += right
        found[number] += max(0, (total << _EXTRA) - right - 1)
    one = 1 << (BITS + _EXTRA)
    # p = q k / (T 2^places): over a common denominator.
    bottom = _whole(steps, law.places)
    places = (law.offset + k for k in edges)
    q = {k: mass for k, mass in zip(places, found, strict=True) if mass and k}
    p_all = sum(k * mass for k, mass in q.items())
    missing_q = one - sum(q.values())
    missing_p = max(0, one * bottom[0] - p_all * bottom[1])
    ks = np.array(list(q))
    log_q = _logs(list(q.values()), one)
    log_p = log_q + np.log(ks / float(Fraction(*bottom)))
    log_p = np.append(log_p, [_log(missing_p, one * bottom[0]), -math.inf])
    log_q = np.append(log_q, [-math.inf, _log(missing_q, one)])
    return Atoms(log_p, log_q, _error(log_p, log_q))


def _whole(steps: int, places: int) -> tuple[int, int]:
    """Return T 2^places as a ratio."""
    return (steps << places, 1) if places >= 0 else (steps, 1 << -places)


def _merged(law: Lattice, edges: list[int], steps: int) -> tuple[Atoms, float]:
    """Return the pair below: each cell's mass at its mean; and ln of what the mean lacks."""
    logs_q, logs_p = [], []
    one, bottom = 1 << BITS, _whole(steps, law.places)
    sum_p = 0
    for number, (low, high) in enumerate(itertools.pairwise(edges)):
        stop = high + 1 if number == len(edges) - 2 else high
        total = sum(law.masses[low:stop])
        first = sum(law.masses[k] * (law.offset + k) for k in range(low, stop))
        if first == 0:
            continue
        sum_p += first
        logs_q.append(_log(total, one))
        logs_p.append(_log(first * bottom[1], one * bottom[0]))
    lacking = one * bottom[0] - sum_p * bottom[1]
    log_q, log_p = np.array(logs_q), np.array(logs_p)
    log_lacking = _log(max(1, lacking), one * bottom[0]) + 1e-9
    return Atoms(log_p, log_q, _error(log_p, log_q)), log_lacking


def _logs(values: list[int], one: int) -> FloatArray:
    return np.array([_log(value, one) for value in values])


def _log(value: int, one: int) -> float:
    """Return ln of a ratio of whole numbers, to a few units in the last place of both logs."""
    return math.log(value) - math.log(one) if value > 0 else -math.inf


def _error(*logs: FloatArray) -> float:
    size = max(float(np.abs(each[np.isfinite(each)]).max(initial=0.0)) for each in logs)
    # Both logarithms of a ratio have up to 200 binary digits more than the value.
    return 4 * LIBM_ERROR * (1 + size) + 8 * LIBM_ERROR * 200 + 8 * UNIT_ROUNDOFF * size
