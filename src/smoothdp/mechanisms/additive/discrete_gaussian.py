"""The discrete Gaussian mechanism: a whole number plus normal-like noise on the whole numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, NamedTuple

import numpy as np

from smoothdp.claims.curves.atoms import Atoms
from smoothdp.claims.curves.profile import FunctionProfile, PrivacyProfile
from smoothdp.claims.curves.tradeoff import TradeoffFunction
from smoothdp.claims.guarantees.concentrated import ZCDP
from smoothdp.claims.label import Label
from smoothdp.claims.neighbours import Neighbours, read_neighbours
from smoothdp.claims.release import Release, library_version
from smoothdp.composition.laws.atoms import AtomsLaw
from smoothdp.composition.laws.law import LossBracket, LossLaws, Slack
from smoothdp.exact.balls.balls import ball, enclose, precision
from smoothdp.exact.balls.special import Ball, log_probability
from smoothdp.exact.logspace.bounds import LOG_ZERO, UNIT_ROUNDOFF, LogBounds
from smoothdp.exact.parameters.numbers import Parameter, Real, exact_int, exact_positive
from smoothdp.exact.probabilities.gaussian_sums import gaussian_sum, scaled_tail_sum
from smoothdp.exact.random.entropy import Entropy, read_rng
from smoothdp.mechanisms.additive.private_number import read_private_integer
from smoothdp.mechanisms.additive.whole_laws import DiscreteGaussianLaw
from smoothdp.sources import Source
from smoothdp.types import FloatArray

_FAR = 40
"""Deviations beyond which the atoms of the loss are taken as infinite: e^-800 in all."""
_MOST_ATOMS = 200_000
_MOST_KNOTS = 20_000


class _Atoms(NamedTuple):
    """Outputs one by one, under the shifted law P; under Q they are the mirror image.

    Attributes:
        log_p: ln of the masses. losses: of P against Q. log_rest: of the mass left out, at most.
        error: of each ln of a mass.
    """

    log_p: FloatArray
    losses: FloatArray
    log_rest: float
    error: float


@dataclass(frozen=True, init=False)
class DiscreteGaussianMechanism:
    """A whole number of sensitivity D, plus z with weight e^(-z^2 / (2 sigma^2)).

    It is zCDP with rho = D^2 / (2 sigma^2). It is not Gaussian DP with mu = D / sigma: figures
    in Gaussian and approximate DP come from its own curve,

        delta(e) = P(Z >= k - D) - e^e P(Z >= k), k the least whole number above
        e sigma^2 / D + D / 2.

    Source: Canonne, Kamath, Steinke (2020), Theorem 14; proofs/private-sums#6.

    Args:
        sigma_squared: > 0, slightly above the variance.
        sensitivity: D, a whole number of at least 1: how far neighbours can be apart.
        neighbours: "replace_one" (default), "add_remove" or "zero_out".

    Raises:
        InvalidParameter: a parameter outside these domains.

    >>> mechanism = DiscreteGaussianMechanism(8)
    >>> mechanism.guarantee
    ZCDP(rho=1/16, neighbours='replace_one')
    >>> round(mechanism.profile().delta(1), 9)
    0.000417962
    """

    source: ClassVar[Source] = Source("canonne-kamath-steinke", "Theorem 14")
    exact_sigma_squared: Fraction
    sensitivity: int
    neighbours: Neighbours

    def __init__(
        self,
        sigma_squared: Parameter,
        sensitivity: int = 1,
        *,
        neighbours: Neighbours | str = Neighbours.REPLACE_ONE,
    ) -> None:
        object.__setattr__(
            self, "exact_sigma_squared", exact_positive(sigma_squared, name="sigma_squared")
        )
        object.__setattr__(
            self, "sensitivity", exact_int(sensitivity, name="sensitivity", minimum=1)
        )
        object.__setattr__(self, "neighbours", read_neighbours(neighbours))

    @property
    def law(self) -> DiscreteGaussianLaw:
        """The law of the noise."""
        return DiscreteGaussianLaw(self.exact_sigma_squared)

    @property
    def guarantee(self) -> ZCDP:
        """The claim that the mechanism meets."""
        rho = Fraction(self.sensitivity**2) / (2 * self.exact_sigma_squared)
        return ZCDP(rho, neighbours=self.neighbours)

    def profile(self) -> PrivacyProfile:
        """Return the privacy profile of one release, exactly."""
        return FunctionProfile(self._log_delta_bounds, self.neighbours)

    def tradeoff(self) -> TradeoffFunction:
        """Return the trade-off curve of one release, whose `gaussian_mu` is its own.

        Of its atoms while they are few; else what its profile proves at 200 epsilons.
        """
        if 2 * self._reach > _MOST_KNOTS:
            return self.profile().tradeoff()
        atoms = self._atoms
        # What is beyond the atoms, less than e^-800: to an attacker it tells all.
        log_p = np.array([*atoms.log_p, atoms.log_rest, -math.inf])
        log_q = np.array([*atoms.log_p[::-1], -math.inf, atoms.log_rest])
        return TradeoffFunction.from_atoms(Atoms(log_p, log_q, atoms.error))

    def _log_delta_bounds(self, epsilon: Real) -> LogBounds:
        variance, far = self.exact_sigma_squared, self.sensitivity
        k = _first_above(epsilon, variance, far)

        def compute() -> Ball:
            whole = gaussian_sum(variance)
            # Both tails as multiples of their first terms, whose ratio is near 1.
            tilt = Fraction(far * (2 * k - far)) / (2 * variance)
            later = (ball(epsilon) - ball(tilt)).exp() * scaled_tail_sum(variance, k)
            first = ball(Fraction((k - far) ** 2) / (2 * variance))
            if k >= far:
                return -first + (scaled_tail_sum(variance, k - far) - later).log() - whole.log()
            # The first tail starts below 0: it is all but a tail on the other side.
            missing = (first - ball(Fraction((far - k + 1) ** 2) / (2 * variance))).exp()
            tail = whole * first.exp() - missing * scaled_tail_sum(variance, far - k + 1)
            return -first + (tail - later).log() - whole.log()

        return log_probability(compute, bits=128)

    def loss_laws(self) -> LossLaws | None:
        """Return the law of the privacy loss of one release, for composition.

        Atoms within 40 deviations; the rest, below e^-800, has an infinite loss. None where
        atoms are too many: then the profile says all.
        """
        if 2 * self._reach > _MOST_ATOMS:
            return None
        atoms = self._atoms
        slack = Slack(atoms.error, 4 * UNIT_ROUNDOFF * float(np.abs(atoms.losses).max()))
        exact = AtomsLaw(atoms.log_p, atoms.losses, LOG_ZERO, slack)
        rest = LogBounds(-math.inf, atoms.log_rest)
        above = AtomsLaw(atoms.log_p, atoms.losses, rest, slack)
        return LossLaws(self.neighbours, LossBracket(above, exact))

    @property
    def _reach(self) -> int:
        """How far from both centres outputs are counted one by one."""
        return self.sensitivity + math.isqrt(math.ceil(_FAR**2 * self.exact_sigma_squared)) + 1

    @property
    def _atoms(self) -> _Atoms:
        variance, far, reach = self.exact_sigma_squared, self.sensitivity, self._reach
        places = np.arange(far - reach, reach + 1, dtype=np.float64)
        with precision(128):
            log_whole = float(gaussian_sum(variance).log().mid())
            # Beyond on both sides of the place of the shifted noise.
            first = reach - far + 1
            beyond = 2 * scaled_tail_sum(variance, first) / gaussian_sum(variance)
            exponent = ball(Fraction(first**2) / (2 * variance))
            log_rest = enclose(beyond.log() - exponent).upper
        # Under P the output z has weight e^(-(z - D)^2 / (2 sigma^2)). Places and their squares
        # are exact; each product and sum is rounded once.
        log_p = -((places - far) ** 2) * float(1 / (2 * variance)) - log_whole
        losses = (2.0 * places - far) * float(far / (2 * variance))
        error = 4 * UNIT_ROUNDOFF * (float(np.abs(log_p).max()) + abs(log_whole) + 1)
        return _Atoms(log_p, losses, log_rest, error)

    def describe(self) -> str:
        """Return the mechanism in words."""
        return self.law.describe()

    def release(
        self, value: int, *, label: object = None, rng: Entropy | None = None
    ) -> Release[int]:
        """Return the number with noise, and the guarantee.

        Args:
            value: a whole number, which neighbours move by the sensitivity at most.
            label: a name, or a `smoothdp.claims.label.Label` with purpose and who.
            rng: `SystemRandom()` (default), or `SeededRandom`, marked not private.
        """
        named, source = Label.read(label), read_rng(rng)
        noisy = read_private_integer(value) + self.law.draw(source)
        common = (self.describe(), source.is_private, library_version(), (self.source,))
        return Release(noisy, self.guarantee, *common, label=named)


def _first_above(epsilon: Real, variance: Fraction, far: int) -> int:
    """Return the least whole number above epsilon sigma^2 / D + D / 2.

    Where epsilon is the logarithm of a ratio that number is irrational, and never whole.
    """
    if isinstance(epsilon, Fraction):
        return math.floor(epsilon * variance / far + Fraction(far, 2)) + 1
    bits = 128
    while True:
        with precision(bits):
            place = ball(epsilon) * ball(variance / far) + ball(Fraction(far, 2))
            whole = place.floor().unique_fmpz()
            if whole is not None:
                return int(whole) + 1
        bits *= 2
