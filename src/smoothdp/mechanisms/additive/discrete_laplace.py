"""The discrete Laplace mechanism: a whole number plus noise on the whole numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from smoothdp.claims.curves.atoms import Atoms
from smoothdp.claims.curves.profile import FunctionProfile, PrivacyProfile
from smoothdp.claims.curves.tradeoff import TradeoffFunction
from smoothdp.claims.guarantees.standard import PureDP
from smoothdp.claims.label import Label
from smoothdp.claims.neighbours import Neighbours, read_neighbours
from smoothdp.claims.release import Release, library_version
from smoothdp.composition.laws.atoms import AtomsLaw
from smoothdp.composition.laws.law import LossLaws, Slack, known
from smoothdp.exact.balls.balls import ball, precision
from smoothdp.exact.balls.compare import at_most
from smoothdp.exact.balls.special import Ball, log_probability
from smoothdp.exact.logspace.bounds import LOG_ZERO, UNIT_ROUNDOFF, LogBounds
from smoothdp.exact.parameters.numbers import Parameter, Real, exact_int, exact_positive
from smoothdp.exact.random.entropy import Entropy, read_rng
from smoothdp.mechanisms.additive.private_number import read_private_integer
from smoothdp.mechanisms.additive.whole_laws import DiscreteLaplaceLaw
from smoothdp.sources import Source

_MOST_ATOMS = 2000


@dataclass(frozen=True, init=False)
class DiscreteLaplaceMechanism:
    """A whole number of sensitivity D, plus z with weight e^(-|z| / b).

    It is (D / b)-DP, and its profile is at most that of the claim. With p = e^(-1/b), for
    e < D / b and k the least whole number above (b e + D) / 2,

        delta(e) = 1 - (p^(D - k + 1) + e^e p^k) / (1 + p),

    and 0 from D / b on. At D = 1 it is that of the claim, attained.

    Source: Canonne, Kamath, Steinke (2020), Algorithm 2; proofs/private-sums#5.

    Args:
        scale: b > 0.
        sensitivity: D, a whole number of at least 1: how far neighbours can be apart.
        neighbours: "replace_one" (default), "add_remove" or "zero_out".

    Raises:
        InvalidParameter: a parameter outside these domains.

    >>> mechanism = DiscreteLaplaceMechanism(4, sensitivity=2, neighbours="add_remove")
    >>> mechanism.guarantee
    PureDP(epsilon=1/2, neighbours='add_remove')
    >>> round(mechanism.profile().delta("0.1"), 6), mechanism.profile().delta("0.5")
    (0.185338, 0.0)
    """

    source: ClassVar[Source] = Source("canonne-kamath-steinke", "Algorithm 2")
    exact_scale: Fraction
    sensitivity: int
    neighbours: Neighbours

    def __init__(
        self,
        scale: Parameter,
        sensitivity: int = 1,
        *,
        neighbours: Neighbours | str = Neighbours.REPLACE_ONE,
    ) -> None:
        object.__setattr__(self, "exact_scale", exact_positive(scale, name="scale"))
        object.__setattr__(
            self, "sensitivity", exact_int(sensitivity, name="sensitivity", minimum=1)
        )
        object.__setattr__(self, "neighbours", read_neighbours(neighbours))

    @property
    def law(self) -> DiscreteLaplaceLaw:
        """The law of the noise."""
        return DiscreteLaplaceLaw(self.exact_scale)

    @property
    def guarantee(self) -> PureDP:
        """The claim that the mechanism meets."""
        return PureDP(self.sensitivity / self.exact_scale, neighbours=self.neighbours)

    def profile(self) -> PrivacyProfile:
        """Return the privacy profile of one release, exactly."""
        return FunctionProfile(self._log_delta_bounds, self.neighbours)

    def tradeoff(self) -> TradeoffFunction:
        """Return the trade-off curve of one release.

        Of its D + 1 atoms while they are few; else what its profile proves at 200 epsilons.
        """
        if self.sensitivity >= _MOST_ATOMS:
            return self.profile().tradeoff()
        law = self._atoms()
        # Under the unshifted law the masses are the mirror image.
        atoms = Atoms(law.log_masses, law.log_masses[::-1], law.slack.mass)
        return TradeoffFunction.from_atoms(atoms)

    def _log_delta_bounds(self, epsilon: Real) -> LogBounds:
        b, far = self.exact_scale, self.sensitivity
        if at_most(far / b, epsilon):
            return LOG_ZERO
        k = _first_above(epsilon, b, far)

        def compute() -> Ball:
            p = (-ball(1 / b)).exp()
            # 1 + p - p^(D - k + 1) - e^epsilon p^k, without the cancellation at large b.
            first = -(-ball((far - k + 1) / b)).expm1()
            second = -(ball(epsilon) - ball((k - 1) / b)).expm1()
            return ((first + p * second) / (1 + p)).log()

        return log_probability(compute, bits=128)

    def loss_laws(self) -> LossLaws | None:
        """Return the law of the privacy loss of one release, for composition.

        Its D + 1 atoms; None where they are too many: then the profile says all.
        """
        if self.sensitivity >= _MOST_ATOMS:
            return None
        return LossLaws(self.neighbours, known(self._atoms()))

    def _atoms(self) -> AtomsLaw:
        """The loss is (2z - D) / b at Z + D = z, 0 <= z <= D, and the ends' beyond."""
        b, far = self.exact_scale, self.sensitivity
        losses = [float((2 * z - far) / b) for z in range(far + 1)]
        with precision(128):
            p = (-ball(1 / b)).exp()
            low = (-ball(far / b)).exp() / (1 + p)
            inner = [(-ball((far - z) / b)).exp() * (1 - p) / (1 + p) for z in range(1, far)]
            masses = [float(mass.log().mid()) for mass in (low, *inner, 1 / (1 + p))]
        # Each ln of a mass and each loss is the nearest float.
        largest = max(abs(mass) for mass in masses)
        slack = Slack(2 * UNIT_ROUNDOFF * (largest + 1e-300), UNIT_ROUNDOFF * max(losses))
        return AtomsLaw(np.array(masses), np.array(losses), LOG_ZERO, slack)

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


def _first_above(epsilon: Real, scale: Fraction, far: int) -> int:
    """Return the least whole number above (b epsilon + D) / 2.

    Where epsilon is the logarithm of a ratio that number is irrational, and never whole.
    """
    if isinstance(epsilon, Fraction):
        return math.floor((scale * epsilon + far) / 2) + 1
    bits = 128
    while True:
        with precision(bits):
            whole = ((ball(scale) * ball(epsilon) + far) / 2).floor().unique_fmpz()
            if whole is not None:
                return int(whole) + 1
        bits *= 2
