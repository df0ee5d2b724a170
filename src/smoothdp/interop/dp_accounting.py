"""To and from the privacy-loss distributions of dp_accounting."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from smoothdp.claims.curves.atoms import Atoms, log_of
from smoothdp.claims.curves.profile import FunctionProfile, PrivacyProfile
from smoothdp.claims.domains import read_delta
from smoothdp.claims.neighbours import Neighbours, read_neighbours
from smoothdp.composition.laws.law import LossBracket, LossLaws
from smoothdp.composition.laws.symmetrise import directed_law, symmetrised
from smoothdp.errors import InvalidData, InvalidParameter, OutOfReach
from smoothdp.exact.logspace.bounds import LogBounds
from smoothdp.exact.parameters.numbers import Parameter, Real, exact_positive
from smoothdp.interop.extras import library, profile_of
from smoothdp.sources import Source
from smoothdp.types import FloatArray

_MODULE = "dp_accounting.pld.privacy_loss_distribution"
_MOST_POINTS = 200_000
_FAR = 1e4
_HAIR = Fraction(1, 10**9)


@dataclass(frozen=True, eq=False)
class ImportedLosses:
    """A pessimistic privacy-loss distribution of dp_accounting, as an item of `compose`.

    What is certified here starts from its masses, taken as exact. How they came about (doubles
    and fast Fourier transforms, absolute errors of about 1e-16) is not checked. An upper bound
    only: the lower side of every bracket is 0.

    Attributes:
        forward, backward: the losses for removing and for adding a record; the same object if
            one distribution serves both.
        neighbours: the relation that the caller named; dp_accounting does not keep it.

    >>> import smoothdp as sd
    >>> from dp_accounting.pld import privacy_loss_distribution as pld
    >>> from smoothdp.interop import from_dp_accounting
    >>> losses = from_dp_accounting(
    ...     pld.from_laplace_mechanism(2, value_discretization_interval=0.01),
    ...     neighbours="add_remove",
    ... )
    >>> round(losses.profile().epsilon("1e-6"), 3)
    0.5
    >>> round(sd.compose([(losses, 10)]).epsilon("1e-6"), 3)
    4.999
    """

    source: ClassVar[Source] = Source("zhu-dong-wang", "dominating pairs")
    forward: Atoms
    backward: Atoms
    neighbours: Neighbours

    def profile(self) -> PrivacyProfile:
        """Return the worse of both directions, as an upper bound."""
        return FunctionProfile(self._log_delta_bounds, self.neighbours)

    def _log_delta_bounds(self, epsilon: Real) -> LogBounds:
        sides = (self.forward, self.backward)
        return LogBounds(-math.inf, max(side.log_excess(epsilon).upper for side in sides))

    def loss_laws(self) -> LossLaws:
        """Return the laws of the losses, for composition."""
        first, second = directed_law(self.forward), directed_law(self.backward)
        if self.forward is self.backward:
            return LossLaws(self.neighbours, LossBracket(first, None))
        whole = LossBracket(symmetrised(first, second).upper, None)
        if self.neighbours is Neighbours.REPLACE_ONE:
            # It may be of a sampled mechanism, which has no common orientation there.
            return LossLaws(self.neighbours, whole)
        ways = LossBracket(first, None), LossBracket(second, None)
        return LossLaws(self.neighbours, whole, ways)


def from_dp_accounting(pld: Any, *, neighbours: Neighbours | str) -> ImportedLosses:
    """Return a PrivacyLossDistribution as something that `compose` and a ledger take.

    Args:
        pld: made with pessimistic estimates (the default of dp_accounting).
        neighbours: the relation it was made for: "replace_one" or "add_remove".

    Raises:
        InvalidParameter: another object, or an optimistic distribution.
        InvalidData: masses that are no probabilities.
        MissingExtra: dp_accounting is not installed.

    >>> from dp_accounting.pld import privacy_loss_distribution as pld
    >>> theirs = pld.from_gaussian_mechanism(2, value_discretization_interval=0.01)
    >>> losses = from_dp_accounting(theirs, neighbours="add_remove")
    >>> round(losses.profile().epsilon("1e-6"), 3)
    2.254
    """
    module = library(_MODULE, extra="dp-accounting")
    about = read_neighbours(neighbours)
    if not isinstance(pld, module.PrivacyLossDistribution):
        raise InvalidParameter(
            expected="a PrivacyLossDistribution of dp_accounting",
            got=f"{pld!r}",
            remedy="Build one with dp_accounting.pld",
        )
    forward = _atoms(pld._pmf_remove)
    same = pld._symmetric or pld._pmf_add is pld._pmf_remove
    return ImportedLosses(forward, forward if same else _atoms(pld._pmf_add), about)


def _atoms(pmf: Any) -> Atoms:
    if not pmf._pessimistic_estimate:
        raise InvalidParameter(
            expected="a pessimistic estimate",
            got="an optimistic one",
            remedy="Make the distribution with pessimistic_estimate=True",
        )
    dense = pmf.to_dense_pmf()
    masses = np.asarray(dense._probs, dtype=np.float64)
    infinite = float(dense._infinity_mass)
    # Transforms leave masses a little below 0; without them, delta is only larger.
    if not (np.isfinite(masses).all() and masses.min(initial=0.0) > -1e-9 and 0 <= infinite <= 1):
        raise InvalidData(
            expected="probabilities", got="other masses", remedy="Make the distribution again"
        )
    positions = np.arange(masses.size) + dense._lower_loss
    keep = masses > 0
    losses = positions[keep] * float(dense._discretization)
    log_p, error = log_of(masses[keep])
    log_infinite, slip = log_of(np.array([infinite]))
    log_q = np.append(log_p - losses, -math.inf)
    widest = float(np.abs(log_q[:-1]).max(initial=0.0)) + float(np.abs(losses).max(initial=0.0))
    return Atoms(np.append(log_p, log_infinite), log_q, error + slip + widest * 2.0**-52)


def to_dp_accounting(
    item: object, *, discretization: Parameter = "1e-3", tail: Parameter = "1e-15"
) -> Any:
    """Return a pessimistic PrivacyLossDistribution that dominates a guarantee or mechanism.

    Its delta is not below the true one at any epsilon, and at multiples of the discretization
    not above the certified one by more than 1e-11 and the tail ("connect the dots"). Both
    directions get the larger curve of the two, so composition stays safe.

    Args:
        item: a guarantee, a mechanism, a profile or a composition.
        discretization: the width of a cell of the losses.
        tail: where delta falls below it, the rest is mass at infinity.

    Raises:
        InvalidParameter, IncompatibleClaims: no profile, or a smoothed claim.
        OutOfReach: more than 200,000 cells.
        MissingExtra: dp_accounting is not installed.

    >>> from smoothdp.claims import PureDP
    >>> losses = to_dp_accounting(PureDP(1))
    >>> bool(losses.get_delta_for_epsilon(1.1) < 1e-9)
    True
    """
    module = library(_MODULE, extra="dp-accounting")
    profile = profile_of(item)
    width = float(exact_positive(discretization, name="discretization"))
    # Some curves never fall below a floor, such as that of an approximate claim.
    floor = Fraction(_delta_up(profile, _FAR))
    end = profile.epsilon(min(Fraction(1), max(read_delta(tail), floor * (1 + _HAIR))))
    n_cells = math.inf if math.isinf(end) else math.ceil(end / width) + 1
    if n_cells > _MOST_POINTS:
        raise OutOfReach(
            expected=f"at most {_MOST_POINTS} cells up to the tail",
            got=f"{n_cells}, up to epsilon={end:g}",
            remedy="Raise the discretization or the tail",
        )
    cells = np.arange(int(n_cells) + 1)
    deltas = np.array([_delta_up(profile, float(k * width)) for k in cells])
    deltas = np.minimum.accumulate(np.minimum(deltas, 1.0))
    # delta(-e) = 1 - e^-e (1 - delta(e)) for the larger of both directions.
    left = 1.0 - np.exp(-cells[:0:-1] * width) * (1.0 - deltas[:0:-1])
    grid = np.arange(-int(n_cells), int(n_cells) + 1)
    every = _convex(np.exp(grid * width), np.concatenate([left, deltas]))
    masses = _dots(every, width)

    def made(extra: float) -> Any:
        return module.PrivacyLossDistribution.create_from_rounded_probability(
            {int(k): float(p) for k, p in zip(grid, masses, strict=True) if p > 0},
            min(1.0, float(deltas[-1]) + extra),
            width,
        )

    # Rounding may leave the distribution a hair below: the missing mass goes to infinity, with the
    # rounding of the curve itself, a few units of values up to 1.
    epsilons = [float(k * width) for k in grid]
    reached = np.asarray(made(0.0).get_delta_for_epsilon(epsilons))
    return made(max(0.0, float((every - reached).max())) + 4e-15)


def _delta_up(profile: PrivacyProfile, epsilon: float) -> float:
    """Return delta at the binary value of a float."""
    return profile.log_delta_bounds(Fraction(epsilon)).linear()[1]


def _convex(x: FloatArray, y: FloatArray) -> FloatArray:
    """Return the largest convex curve below points, at the same x.

    The true delta is convex in e^epsilon: where delta lies below the points, delta lies below
    this curve.
    """
    kept: list[int] = []
    for index in range(x.size):
        while len(kept) > 1:
            a, b = kept[-2], kept[-1]
            if (y[b] - y[a]) * (x[index] - x[a]) < (y[index] - y[a]) * (x[b] - x[a]):
                break
            kept.pop()
        kept.append(index)
    return np.interp(x, x[kept], y[kept])


def _dots(deltas: FloatArray, width: float) -> FloatArray:
    """Return the masses of p at the kinks of the curve that is linear in e^epsilon between."""
    drops = -np.diff(deltas)
    above = np.append(1.0 - deltas[0], drops / -math.expm1(-width))
    below = np.append(drops / math.expm1(width), 0.0)
    return np.asarray(np.maximum(0.0, above - below))
