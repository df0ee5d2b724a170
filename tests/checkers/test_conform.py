"""Power of `conform`: laws that are wrong in one place are refuted there, in plain words.

That correct laws pass, and how often one would not, is in `tests/conformance/test_noise_laws.py`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
import pytest

from smoothdp.claims import Guarantee
from smoothdp.errors import DoesNotConform, InvalidParameter
from smoothdp.exact.balls import special
from smoothdp.exact.balls.special import Ball
from smoothdp.exact.parameters.numbers import Parameter, Real
from smoothdp.exact.random.lazy import DrawFunction, LazyLaw, Undrawn, standard_normal
from smoothdp.noise import Gaussian, Laplace, NoiseDistribution, ParameterSpec, PolyPlace, StudentT
from smoothdp.noise.abstract_law import Growth
from smoothdp.noise.shift_claim import ShiftClaim, no_room
from smoothdp.testing import conform, law_balls, law_draws, law_floats, law_privacy
from smoothdp.testing.conform import FAMILY_CHECKS, LAW_CHECKS
from smoothdp.types import FloatArray

Check = Callable[[Any], None]


# ---- wrong in floats ---------------------------------------------------------------------------


class Lopsided(Laplace):
    """Its density is that of Z + 1/10."""

    def log_density(self, x: Any) -> Any:
        return super().log_density(np.asarray(x) - 0.1)


class Bumpy(Laplace):
    """Its density rises between 1 and 1.2."""

    def _log_density(self, a: FloatArray) -> FloatArray:
        return super()._log_density(a) + np.where((a > 1) & (a < 1.2), 2 * (a - 1), 0.0)


class HeavyTail(Laplace):
    """Its tail is a millionth larger than the integral of its density."""

    def _log_survival(self, a: FloatArray) -> FloatArray:
        return super()._log_survival(a) + 1e-6


class ShortQuantiles(PolyPlace):
    """Its far quantiles are a billionth too small."""

    def _tail_quantile(self, log_tail: FloatArray) -> FloatArray:
        return super()._tail_quantile(log_tail) * (1 - 1e-9)


class SmallVariance(StudentT):
    """Its moments are a millionth too small."""

    def _moment(self, k: int) -> float:
        return super()._moment(k) * (1 - 1e-6)


class FallingMoments(Laplace):
    """Its first moment is larger than its deviation."""

    def _moment(self, k: int) -> float:
        return super()._moment(k) * (2.0 if k == 1 else 1.0)


class OneShape(Laplace):
    """Its density of a number is not that of an array."""

    def density(self, x: Any) -> Any:
        return super().density(x) * (1.0 if np.ndim(x) else 1.01)


class Ending(Laplace):
    """Its tail ends at e^-1000: farther out floats were taken."""

    def _log_survival(self, a: FloatArray) -> FloatArray:
        return np.log(np.exp(super()._log_survival(a)))


class NoEnd(Laplace):
    """It has no density at infinity."""

    def _log_density(self, a: FloatArray) -> FloatArray:
        return np.where(np.isinf(a), math.nan, super()._log_density(a))


class Changeable(PolyPlace):
    """Its shape can be set."""

    def __setattr__(self, name: str, value: object) -> None:
        object.__setattr__(self, name, value)


# ---- wrong in balls ----------------------------------------------------------------------------


class Apart(Laplace):
    """Its floats and its balls differ by a billionth."""

    def _log_density(self, a: FloatArray) -> FloatArray:
        return super()._log_density(a) + 1e-9


class Steeper(StudentT):
    """Its elasticity is 1% too small."""

    def _ball_elasticity(self, v: Ball) -> Ball:
        return super()._ball_elasticity(v) * special.number(0.99)


class TooLarge(StudentT):
    """Its density integrates to 1.01, in floats and in balls."""

    def _log_density(self, a: FloatArray) -> FloatArray:
        return super()._log_density(a) + math.log(1.01)

    def _ball_log_density(self, v: Ball) -> Ball:
        return super()._ball_log_density(v) + special.number(math.log(1.01))

    def _ball_log_peak(self) -> Ball:
        return super()._ball_log_peak() + special.number(math.log(1.01))


class LightTail(StudentT):
    """Its tail in balls is 1% too small."""

    def _ball_survival(self, x: Ball) -> Ball:
        return super()._ball_survival(x) * special.number(0.99)


class LowLimit(StudentT):
    """Its tail is said to fall more slowly than it does: dilations would look cheap."""

    def _elasticity_limit(self) -> Ball:
        return super()._elasticity_limit() - 1


class Midpoint(StudentT):
    """Its elasticity forgets the width of its argument."""

    def _ball_elasticity(self, v: Ball) -> Ball:
        return super()._ball_elasticity((special.lower(v) + special.upper(v)) / 2)


class SmallScore(PolyPlace):
    """Its score is said to be half of what it is."""

    def _growth(self) -> Growth:
        return replace(super()._growth(), score=self.exact_alpha / 2)


class LowPower(PolyPlace):
    """Its tail is said to fall more slowly than it does."""

    def _growth(self) -> Growth:
        return replace(super()._growth(), power=self.exact_alpha - 1)


class WrongExponent(Gaussian):
    """Its tail is said to be exponential."""

    def _growth(self) -> Growth:
        return Growth(exponent=1)


# ---- wrong draws -------------------------------------------------------------------------------


class Drawn(Laplace):
    """A Laplace law whose draws are what `drawn` makes of a uniform number."""

    def lazy(self) -> LazyLaw:
        return LazyLaw(1, self._wrong_function)

    def _wrong_function(self) -> DrawFunction:
        def draw(positive: bool, u: Ball) -> Ball | Undrawn:
            size = self.drawn(u)
            return size if positive or isinstance(size, Undrawn) else -size

        return draw

    def drawn(self, u: Ball) -> Ball | Undrawn:
        return -u.log()


class WideDraws(Drawn):
    """A fifth too wide."""

    def drawn(self, u: Ball) -> Ball:
        return -u.log() * special.number(1.2)


class NarrowDraws(Drawn):
    """1% too narrow: less noise than was calibrated."""

    def drawn(self, u: Ball) -> Ball:
        return -u.log() * special.number(0.99)


class NarrowNormal(Gaussian):
    """4% too narrow, of two uniform numbers."""

    def lazy(self) -> LazyLaw:
        return LazyLaw(2, lambda: lambda _, u, v: standard_normal(u, v) * special.number(0.96))


class OneSided(Drawn):
    """Half of the large ones are missing on one side."""

    def lazy(self) -> LazyLaw:
        return LazyLaw(1, lambda: lambda positive, u: -u.log() if positive or u < 0.2 else u.log())


class FloatDraws(Drawn):
    """The uniform number is taken as a float."""

    def drawn(self, u: Ball) -> Ball:
        return -special.number(float(u.mid())).log()


class RoughDraws(Drawn):
    """The draw is rounded to 2^-58: four steps of the grid."""

    def drawn(self, u: Ball) -> Ball:
        return (-u.log() * 2**58).floor() / 2**58


class Decided(Drawn):
    """A comparison that is not certain is decided by the midpoint: 5% are drawn twice as large."""

    def drawn(self, u: Ball) -> Ball:
        return -u.log() * (2 if u.mid() < 0.05 else 1)


class Undecided(Drawn):
    """It rejects where it should ask for more bits."""

    def drawn(self, u: Ball) -> Ball | Undrawn:
        if u < 0.5 or u > 0.5:
            return -u.log()
        return Undrawn.REJECTED


WRONG: list[tuple[NoiseDistribution, Check]] = [
    (Lopsided(), law_floats.is_symmetric),
    (Bumpy(), law_floats.is_monotone),
    (HeavyTail(), law_floats.cdf_integrates_the_density),
    (ShortQuantiles(5), law_floats.quantile_inverts_the_cdf),
    (Ending(), law_floats.quantile_inverts_the_cdf),
    (SmallVariance(3), law_floats.variance_is_the_second_moment),
    (FallingMoments(), law_floats.moments_rise),
    (OneShape(), law_floats.takes_numbers_and_arrays),
    (NoEnd(), law_floats.behaves_at_the_edges),
    (Changeable(5), law_floats.is_a_value),
    (Apart(), law_balls.floats_are_near_the_balls),
    (Steeper(3), law_balls.elasticity_is_the_slope),
    (LowLimit(3), law_balls.elasticity_is_the_slope),
    (SmallScore(5), law_balls.growth_is_true),
    (LowPower(5), law_balls.growth_is_true),
    (WrongExponent(), law_balls.growth_is_true),
    (Midpoint(3), law_balls.wide_balls_contain_narrow_ones),
    (TooLarge(3), law_balls.mass_is_one),
    (LightTail(3), law_balls.mass_is_one),
    (FloatDraws(), law_draws.draws_are_enclosed),
    (Decided(), law_draws.draws_are_enclosed),
    (Undecided(), law_draws.draws_are_enclosed),
    (NarrowDraws(), law_draws.tails_are_enclosed),
    (NarrowNormal(), law_draws.tails_are_enclosed),
    (WideDraws(), law_draws.draws_follow_the_law),
    (OneSided(), law_draws.draws_follow_the_law),
    (RoughDraws(), law_draws.draws_follow_the_law),
]


def part_name(part: object) -> str:
    return getattr(part, "__name__", repr(part))


@pytest.mark.parametrize(("law", "check"), WRONG, ids=part_name)
def test_a_wrong_law_is_refuted(law: NoiseDistribution, check: Check) -> None:
    assert check in LAW_CHECKS
    with pytest.raises(DoesNotConform, match=r"(?s)Expected .*; got .*\. .*\."):
        check(law)


# ---- wrong claims ------------------------------------------------------------------------------


class FarPure(StudentT):
    """Its pure shift is 1% too large."""

    def _pure_claim(self, epsilon: Real, smoothing: Fraction) -> ShiftClaim:
        claim = super()._pure_claim(epsilon, smoothing)
        more = claim.exact_shift * Fraction(101, 100)
        return replace(claim, exact_shift=more, upper=more)


class NoPure(PolyPlace):
    """It refuses pure DP, which it could keep."""

    def _pure_claim(self, epsilon: Real, smoothing: Fraction) -> ShiftClaim:
        del epsilon
        raise no_room("another law", self, smoothing, "Take one")


class LowSupremum(StudentT):
    """Its largest loss is said to be 1% smaller than it is, and nothing else is said."""

    def _supremum_closed(self, shift: Ball, dilation: Ball) -> Ball:
        return super()._supremum_closed(shift, dilation) * special.number(0.99)

    def _pure_claim(self, epsilon: Real, smoothing: Fraction) -> ShiftClaim | None:  # type: ignore[override]
        del epsilon, smoothing
        return None


class LowRenyi(Gaussian):
    """Its Renyi divergence is 1% too small."""

    def _renyi_closed(self, order: Ball, shift: Ball, dilation: Ball) -> Ball:
        return super()._renyi_closed(order, shift, dilation) * special.number(0.99)


class LowDelta(Laplace):
    """Its hockey stick is 1% too small."""

    def _delta_closed(self, epsilon: Ball, shift: Ball, dilation: Ball) -> Ball:
        return super()._delta_closed(epsilon, shift, dilation) * special.number(0.99)


class FarPrinted(PolyPlace):
    """Its printed theorem allows more than is true."""

    def _printed_claim(self, guarantee: Guarantee, smoothing: Fraction) -> ShiftClaim:
        claim = super()._printed_claim(guarantee, smoothing)
        return replace(claim, exact_shift=claim.exact_shift * 2)


class FarUndilated(Gaussian):
    """Its zCDP at smoothing 0 is 1% too good."""

    def _undilated_claim(self, guarantee: Guarantee) -> ShiftClaim | None:
        claim = super()._undilated_claim(guarantee)
        return claim and replace(claim, exact_shift=claim.exact_shift * Fraction(101, 100))


PURE, APPROXIMATE, CONCENTRATED, _ = law_privacy.TARGETS
SMOOTH, PLAIN = law_privacy.SMOOTHINGS


@pytest.mark.parametrize(
    ("law", "target", "smoothing"),
    [
        (FarPure(3), PURE, SMOOTH),
        (NoPure(5), PURE, SMOOTH),
        (LowSupremum(3), PURE, SMOOTH),
        (FarPrinted(5), PURE, SMOOTH),
        (FarUndilated(), CONCENTRATED, PLAIN),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_wrong_claim_is_refuted(
    law: NoiseDistribution, target: law_privacy.Target, smoothing: Fraction
) -> None:
    with pytest.raises(DoesNotConform, match=type(law).__name__):
        law_privacy.calibrated(law, target, smoothing)


@pytest.mark.parametrize("law", [LowRenyi(), LowDelta()], ids=repr)
def test_wrong_divergences_are_refuted(law: NoiseDistribution) -> None:
    with pytest.raises(DoesNotConform, match=r" in \["):
        law_privacy.divergences_are_enclosed(law)


@pytest.mark.parametrize("target", law_privacy.TARGETS, ids=lambda target: repr(target.guarantee))
def test_a_larger_shift_is_refuted(target: law_privacy.Target) -> None:
    """The brute force itself: 1% more than the exact shift is above every claim."""
    law = StudentT(3)
    found = law.calibrate(target.guarantee, smoothing=SMOOTH)
    law_privacy.within(law, target, found.shift, float(SMOOTH))
    with pytest.raises(DoesNotConform, match=type(target.guarantee).__name__):
        law_privacy.within(law, target, found.shift * 1.01, float(SMOOTH))


# ---- wrong classes -----------------------------------------------------------------------------


@dataclass(frozen=True, init=False, repr=False)
class TakesAnything(StudentT):
    """Any number of degrees of freedom is taken."""

    def __init__(self, degrees: Parameter) -> None:
        object.__setattr__(self, "exact_degrees", Fraction(str(degrees)))


class OtherName(StudentT):
    """The constructor has another name for the parameter."""

    def __init__(self, freedom: Parameter) -> None:
        super().__init__(freedom)


class Turning(StudentT):
    """The tail falls and rises again with the parameter."""

    parameters: ClassVar[tuple[ParameterSpec, ...]] = (
        replace(StudentT.parameters[0], typical=("3", "13", "1")),
    )

    def quantile(self, p: Any) -> Any:
        return StudentT.quantile(StudentT(self.exact_degrees if self.degrees < 9 else 2), p)


class Unexplained(StudentT):
    pass


@pytest.mark.parametrize(
    ("family", "check"),
    [
        (TakesAnything, law_floats.reads_its_parameters),
        (OtherName, law_floats.declares_itself),
        (Unexplained, law_floats.declares_itself),
        (Turning, law_floats.tails_change_one_way),
    ],
)
def test_a_wrong_class_is_refuted(family: type[NoiseDistribution], check: Check) -> None:
    assert check in FAMILY_CHECKS
    with pytest.raises(DoesNotConform):
        conform(family)
    with pytest.raises(DoesNotConform):
        check(family)


def test_conform_makes_every_check() -> None:
    """A law that is wrong in one place does not get past the whole."""
    with pytest.raises(DoesNotConform, match="as it is drawn"):
        conform(WideDraws)
    with pytest.raises(AssertionError, match="Renyi"):
        conform(LowRenyi)


@pytest.mark.parametrize("other", [Laplace(), int, "Laplace", None])
def test_only_a_class_of_laws_is_looked_at(other: Any) -> None:
    with pytest.raises(InvalidParameter, match="class of noise laws"):
        conform(other)
