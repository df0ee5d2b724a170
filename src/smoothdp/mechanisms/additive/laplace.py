"""The Laplace mechanism: its profile and its loss in closed form, and an exact way to run it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from numbers import Rational
from typing import ClassVar

import numpy as np

from smoothdp.claims.curves.profile import FunctionProfile, PrivacyProfile
from smoothdp.claims.guarantees.standard import PureDP
from smoothdp.claims.label import Label
from smoothdp.claims.neighbours import Neighbours, read_neighbours
from smoothdp.claims.release import Release, library_version
from smoothdp.composition.laws.law import (
    BallTransform,
    LossLaw,
    LossLaws,
    Moments,
    Slack,
    TiltedSums,
    TwoAtoms,
    known,
)
from smoothdp.composition.laws.oscillation import TRIG_ERROR, unit_circle
from smoothdp.exact.balls.balls import ball, decimal_up, precision, real_bounds
from smoothdp.exact.balls.compare import at_most
from smoothdp.exact.balls.special import Ball, log_probability, number
from smoothdp.exact.logspace.bounds import LIBM_ERROR, LOG_ZERO, UNIT_ROUNDOFF, LogBounds
from smoothdp.exact.parameters.numbers import Parameter, Real, exact_positive, exact_text
from smoothdp.exact.random.entropy import Entropy, read_rng
from smoothdp.mechanisms.additive.real_draws import LAPLACE, noisy_number
from smoothdp.sources import Source
from smoothdp.types import FloatArray


@dataclass(frozen=True, init=False)
class LaplaceMechanism:
    """A number with sensitivity ``sensitivity`` plus Laplace noise of scale ``scale``.

    With a = sensitivity / scale it is a-DP, and its profile 1 - e^((e - a) / 2) for e <= a is
    strictly below that of the claim. `release` draws exactly: noise from floating-point
    samplers does not have this profile.

    Source: Dwork, Roth, Definition 3.3 and Theorem 3.6.

    Args:
        scale: b > 0 of the density e^(-|x| / b) / (2b).
        sensitivity: largest distance between the values of neighbours, > 0.
        neighbours: "replace_one" (default), "add_remove" or "zero_out".

    Raises:
        InvalidParameter: a parameter outside these domains.

    >>> round(LaplaceMechanism(2).profile().delta("0.1"), 6)
    0.181269
    >>> LaplaceMechanism(2).profile().delta("0.5")
    0.0
    """

    source: ClassVar[Source] = Source("dwork-roth", "Theorem 3.6")
    exact_scale: Fraction
    exact_sensitivity: Fraction
    neighbours: Neighbours

    def __init__(
        self,
        scale: Parameter,
        sensitivity: Parameter = 1,
        *,
        neighbours: Neighbours | str = Neighbours.REPLACE_ONE,
    ) -> None:
        object.__setattr__(self, "exact_scale", exact_positive(scale, name="scale"))
        object.__setattr__(
            self, "exact_sensitivity", exact_positive(sensitivity, name="sensitivity")
        )
        object.__setattr__(self, "neighbours", read_neighbours(neighbours))

    @property
    def ratio(self) -> Fraction:
        """Return a = sensitivity / scale."""
        return self.exact_sensitivity / self.exact_scale

    @property
    def guarantee(self) -> PureDP:
        """The claim that the mechanism meets: a-DP."""
        return PureDP(self.ratio, neighbours=self.neighbours)

    def concentrated_rho(self) -> Fraction:
        """Return a + e^-a - 1, the least rho of zCDP, rounded up to twenty digits.

        Below a tanh(a / 2), what every a-DP mechanism meets: a half of it for large a.

        Source: proofs/pure-to-concentrated#3.

        >>> float(LaplaceMechanism(1).concentrated_rho())
        0.36787944117144233
        """
        return laplace_rho(self.ratio)

    def profile(self) -> PrivacyProfile:
        """Return the privacy profile of one release."""
        return FunctionProfile(self._log_delta_bounds, self.neighbours)

    def _log_delta_bounds(self, epsilon: Real) -> LogBounds:
        return log_laplace_excess(self.ratio, epsilon)

    def loss_laws(self) -> LossLaws:
        """Return the law of the privacy loss of one release, for composition."""
        low, high = real_bounds(self.ratio)
        law = LaplaceLaw(high, math.nextafter(high - low, 1.0), self.ratio)
        return LossLaws(self.neighbours, known(law))

    def describe(self) -> str:
        """Return the mechanism in words."""
        return f"Laplace noise of scale {exact_text(self.exact_scale)}"

    def release(
        self, value: Rational | float, *, label: object = None, rng: Entropy | None = None
    ) -> Release[float]:
        """Return the number with noise, correctly rounded to a public grid, and the guarantee.

        The step of the grid is a power of two, about 2^-30 of the noise: it depends on the noise
        alone. The rounding is a function of the ideal output, so the guarantee is its.

        Args:
            value: a finite number, which neighbours move by the sensitivity at most. A float
                counts as the binary fraction that it is.
            label: a name, or a `smoothdp.claims.label.Label` with purpose and who.
            rng: `SystemRandom()` (default), or `SeededRandom`, marked not private.

        Raises:
            InvalidData: no finite number; the message does not show it.
        """
        named, source = Label.read(label), read_rng(rng)
        noisy = noisy_number(value, LAPLACE, scale=self.exact_scale, rng=source)
        common = (self.describe(), source.is_private, library_version(), (self.source,))
        return Release(noisy, self.guarantee, *common, label=named)


@lru_cache(maxsize=1024)
def laplace_rho(ratio: Fraction) -> Fraction:
    """Return a + e^-a - 1 for a = ratio > 0, rounded up and never above a^2 / 2."""
    # About a^2 / 2 is left of terms of size a: that many bits more.
    bits = 256 + 2 * max(0, ratio.denominator.bit_length() - ratio.numerator.bit_length())
    with precision(bits):
        a = ball(ratio)
        rho = decimal_up(a + (-a).expm1(), digits=20)
    return min(rho, ratio * ratio / 2)


@lru_cache(maxsize=4096)
def log_laplace_excess(ratio: Fraction, epsilon: Real) -> LogBounds:
    """Bound ln of 1 - e^((epsilon - a) / 2) for 0 <= epsilon < a = ratio, and of 0 beyond.

    >>> log_laplace_excess(Fraction(1), Fraction(1))
    LogBounds(lower=-inf, upper=-inf)
    """
    if at_most(ratio, epsilon):
        return LOG_ZERO

    def compute() -> Ball:
        return (-((ball(epsilon) - ball(ratio)) / 2).expm1()).log()

    return log_probability(compute, bits=128)


@dataclass(frozen=True)
class LaplaceLaw(LossLaw):
    """Laplace noise of scale 1 against a shift by ``ratio`` = a: losses in [-a, a].

    P(L = a) = 1/2, P(L = -a) = e^-a / 2, density e^((l - a)/2) / 4 between. With w = z + 1/2

        E e^(zL) = e^(-a/2) [e^(wa) + e^(-wa) + (e^(wa) - e^(-wa)) / (2w)] / 2.

    D at e is 1 - e^((e - a)/2) for |e| <= a, a function of e - a: an error of a is a shift.
    The law is its own mirror image, so it needs no symmetrising.

    Rounding: divided by e^(ca), every term is a product of at most four factors of absolute
    value at most 1 with angles t a; their sum is within 8 LIBM_ERROR + 4 TRIG_ERROR + 16 u +
    2 u t a of the truth, and E e^(cL) / e^(ca) is at least 1/2.
    """

    ratio: float
    ratio_error: float = 0.0
    exact_ratio: Fraction | None = None

    @property
    def largest(self) -> float:
        return self.ratio

    @property
    def slack(self) -> Slack:
        return Slack(0.0, self.ratio_error)

    def _scaled_mgf(self, tilt: float) -> float:
        """Return E e^(cL) e^(-ca), in [1/2, 1]."""
        w = tilt + 0.5
        rest = math.exp(-2 * w * self.ratio)
        return 0.5 * (1 + rest - math.expm1(-2 * w * self.ratio) / (2 * w))

    def moments(self, tilt: float) -> Moments:
        a, scaled = self.ratio, self._scaled_mgf(tilt)
        log_mgf = tilt * a + math.log(scaled)
        error = 4 * LIBM_ERROR + (4 + 4 * tilt * a + abs(log_mgf)) * UNIT_ROUNDOFF
        error += (tilt + 0.5) * a * 2 * UNIT_ROUNDOFF
        mean, variance = self._spread(tilt, scaled)
        return Moments(log_mgf, error, mean, variance)

    def _spread(self, tilt: float, scaled: float) -> tuple[float, float]:
        """Return about the tilted mean and variance, by the distance of losses from a."""
        rate, width = tilt + 0.5, 2 * self.ratio
        u = rate * width
        if u > 1e-3:
            rest = math.exp(-u) / -math.expm1(-u)
            first = 1 / rate - width * rest
            second = 2 / rate**2 - (width * width + 2 * width / rate) * rest
        else:
            first, second = width / 2, width * width / 3
        density = -math.expm1(-u) / (4 * rate) / scaled
        below = 0.5 * math.exp(-u) / scaled
        distance = density * first + below * width
        variance = density * second + below * width * width - distance * distance
        return self.ratio - distance, max(variance, 0.0)

    def transform(self, tilt: float, *, step: float, count: int, budget: float) -> TiltedSums:
        del budget
        return self.transform_at(tilt, step * np.arange(count, dtype=np.float64))

    def two_atoms(self, tilt: float) -> TwoAtoms:
        # proofs/tilted-contour#9: masses 1/2 and e^(-2wa) / 2, w = c + 1/2, over the whole.
        rest = math.exp(-(2 * tilt + 1) * self.ratio)
        weight = 0.5 * rest / (1 + rest) / self._scaled_mgf(tilt)
        return TwoAtoms(self.ratio, weight * (1 - 1e-12))

    def transform_at(self, tilt: float, t: FloatArray) -> TiltedSums:
        a = self.ratio
        w = (tilt + 0.5) + 1j * t
        scaled = self._scaled_mgf(tilt)
        turn = unit_circle(t * a)
        small = math.exp(-2 * (tilt + 0.5) * a) * turn.conj()
        values = 0.5 * (turn + small + (turn - small) / (2 * w)) / scaled
        centre = self.moments(tilt).mean
        values *= unit_circle(-t * centre)
        constant = 4 * (8 * LIBM_ERROR + 5 * TRIG_ERROR + 20 * UNIT_ROUNDOFF)
        slope = 12 * UNIT_ROUNDOFF * a
        return TiltedSums(values, constant + slope * t, centre)

    def ball_transform(self) -> BallTransform | None:
        return None if self.exact_ratio is None else laplace_transform(self.exact_ratio)

    def decay(self, tilt: float, last: float) -> float:
        """Atoms of tilted mass p; a monotone density of largest value v: p + 2 v / t."""
        at_ends = 0.5 * (1 + math.exp(-(2 * tilt + 1) * self.ratio))
        scaled = self._scaled_mgf(tilt)
        return min(1.0, (1.0001 * at_ends + 0.5001 / last) / scaled)


def laplace_transform(ratio: Fraction) -> BallTransform:
    """Return the transform of the loss of Laplace noise against a shift of ``ratio`` scales."""

    def transform(z: Ball) -> Ball:
        a = ball(ratio)
        w = z + number(0.5)
        up, down = (w * a).exp(), (-w * a).exp()
        return (-a / 2).exp() * (up + down + (up - down) / (2 * w)) / 2

    return transform
