"""A law that the library does not know: what its hooks' defaults certify, and what they refuse."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import ClassVar, Literal

import mpmath
import numpy as np
import pytest

import smoothdp as sd
from smoothdp.errors import InvalidParameter, OutOfReach
from smoothdp.exact.balls import special
from smoothdp.exact.balls.balls import ball
from smoothdp.exact.balls.special import Ball
from smoothdp.exact.random.lazy import LazyLaw
from smoothdp.noise import Laplace, NoiseDistribution, PolyPlace, StudentT
from smoothdp.noise.abstract_law import Growth
from smoothdp.noise.calibration import best_shape
from smoothdp.noise.calibration.shipped_claims import shipped_claim
from smoothdp.sources import Source
from smoothdp.types import FloatArray

LOG_TWO = math.log(2)


@dataclass(frozen=True, init=False, repr=False)
class Lomax(sd.noise.NoiseDistribution):
    """Density (p - 1) / 2 (1 + |x|)^-p. The worst loss of a shift and of a dilation is exact:
    p ln(1 + A) at 0, or p times the dilation at infinity.
    """

    source: ClassVar[Source] = Source("hladik-tetek", "no place: made for this test")
    parameters: ClassVar[tuple[sd.noise.ParameterSpec, ...]] = (
        sd.noise.ParameterSpec("power", "power", above=1, reach=("1.01", "1000"), typical=("5",)),
    )
    exact_power: Fraction
    half_rate: Fraction = field(compare=False)

    def __init__(self, power: str | Fraction) -> None:
        object.__setattr__(self, "exact_power", self.parameters[0].read(power))
        object.__setattr__(self, "half_rate", (self.exact_power - 1) / 2)

    @property
    def rate(self) -> float:
        return float(self.exact_power) - 1

    @classmethod
    def finite_moment_above(cls, k: int) -> int:
        return k + 1

    def _log_density(self, a: FloatArray) -> FloatArray:
        return math.log(self.rate / 2) - (self.rate + 1) * np.log1p(a)

    def _log_survival(self, a: FloatArray) -> FloatArray:
        return -LOG_TWO - self.rate * np.log1p(a)

    def _tail_quantile(self, log_tail: FloatArray) -> FloatArray:
        return np.expm1(-(log_tail + LOG_TWO) / self.rate)

    def _central_quantile(self, mass: FloatArray) -> FloatArray:
        return np.expm1(-np.log1p(-2 * mass) / self.rate)

    def _moment(self, k: int) -> float:
        if self.rate <= k:
            return math.inf
        return math.factorial(k) / math.prod(self.rate - j for j in range(1, k + 1))

    def _ball_log_density(self, v: Ball) -> Ball:
        return self._ball_log_peak() - ball(self.exact_power) * v.exp().log1p()

    def _ball_log_peak(self) -> Ball:
        return ball(self.half_rate).log()

    def _ball_elasticity(self, v: Ball) -> Ball:
        return ball(self.exact_power) / (1 + (-v).exp())

    def _ball_survival(self, x: Ball) -> Ball:
        return (-ball(self.exact_power - 1) * x.log1p()).exp() / 2

    def _elasticity_limit(self) -> Ball:
        return ball(self.exact_power)


class KnownLomax(Lomax):
    """The same law, which says how fast it falls."""

    def _growth(self) -> Growth:
        return Growth(self.exact_power, power=self.exact_power - 1)


@dataclass(frozen=True, repr=False)
class Logistic(sd.noise.NoiseDistribution):
    """Density e^-x / (1 + e^-x)^2, which says nothing of its elasticity in the tail."""

    source: ClassVar[Source] = Source("hladik-tetek", "no place: made for this test")

    def _log_density(self, a: FloatArray) -> FloatArray:
        return np.asarray(-a - 2 * np.log1p(np.exp(-a)))

    def _log_survival(self, a: FloatArray) -> FloatArray:
        return -a - np.log1p(np.exp(-a))

    def _tail_quantile(self, log_tail: FloatArray) -> FloatArray:
        return np.asarray(np.log(np.expm1(-log_tail)))

    def _central_quantile(self, mass: FloatArray) -> FloatArray:
        return np.asarray(np.log((0.5 + mass) / (0.5 - mass)))

    def _moment(self, k: int) -> float:
        return math.pi**2 / 3 if k == 2 else math.nan

    def _ball_log_density(self, v: Ball) -> Ball:
        return -v.exp() - 2 * (-v.exp()).exp().log1p()

    def _ball_log_peak(self) -> Ball:
        return -2 * ball(2).log()

    def _ball_elasticity(self, v: Ball) -> Ball:
        return v.exp() * (v.exp() / 2).tanh()

    def _ball_survival(self, x: Ball) -> Ball:
        return (-x).exp() / (1 + (-x).exp())


def largest_shift_of_lomax(p: float, epsilon: float, t: float) -> float:
    """Return the exact shift in pure DP, where the dilation alone does not spend epsilon."""
    ends = (math.expm1(epsilon / p), math.expm1((epsilon + t) / p))
    return min(*ends, math.exp(t) * math.expm1((epsilon - t) / p))


@pytest.mark.parametrize("law", [Lomax("5"), KnownLomax("3/2")], ids=repr)
@pytest.mark.parametrize(("epsilon", "t"), [("1", "0"), ("1", "1/10"), ("8", "1/2")])
def test_pure_dp_is_certified_without_a_closed_form(law: Lomax, epsilon: str, t: str) -> None:
    claim = law.calibrate(sd.PureDP(epsilon), smoothing=t)
    truth = largest_shift_of_lomax(law.rate + 1, float(epsilon), float(Fraction(t)))
    assert claim.label == "certified"
    assert truth * (1 - 1e-9) < claim.exact_shift <= truth * (1 + 1e-14)
    assert claim.relative_gap < 1e-9


def test_pure_dp_is_refused_where_there_is_no_room() -> None:
    """The dilation costs (p - 1) t in reverse."""
    law = Lomax("5")
    assert law.calibrate(sd.PureDP(1), smoothing="0.249").shift > 0
    with pytest.raises(InvalidParameter, match="Lower the smoothing"):
        law.calibrate(sd.PureDP(1), smoothing="0.251")
    with pytest.raises(InvalidParameter, match="Lower the smoothing"):
        law.calibrate(sd.PureDP(0), smoothing=0)


def renyi(law: Lomax, order: float, shift: float, dilation: float, way: str) -> float:
    """Return D_order by quadrature."""

    def log_f(x: float) -> float:
        return float(law.log_density(x))

    def integrand(x: mpmath.mpf) -> mpmath.mpf:
        p = log_f(float(x))
        q = log_f((float(x) - shift) * math.exp(-dilation)) - dilation
        p, q = (p, q) if way == "forward" else (q, p)
        return mpmath.exp(order * p + (1 - order) * q)

    ends = [-mpmath.inf, -10, -1, 0, shift, 1, 10, mpmath.inf]
    moment = mpmath.quad(integrand, ends, method="gauss-legendre")
    return float(mpmath.log(moment) / (order - 1))


@pytest.mark.parametrize(
    "guarantee", [sd.ZCDP("1/2"), sd.TruncatedCDP("1/2", omega=6)], ids=lambda g: type(g).__name__
)
def test_concentrated_dp_is_certified_from_the_growth(
    guarantee: sd.ZCDP | sd.TruncatedCDP,
) -> None:
    law, t = KnownLomax("5"), 0.02
    claim = law.calibrate(guarantee, smoothing="0.02")
    assert claim.label == "certified"
    ways: tuple[Literal["forward", "reverse"], ...] = ("forward", "reverse")
    worst = max(
        renyi(law, order, claim.shift, dilation, way) / order
        for order in (1.01, 2.0, 5.5)
        for dilation in (0.0, t / 2, t)
        for way in ways
    )
    assert worst <= 0.5 * (1 + 1e-6)
    assert worst > 0.4


def test_approximate_dp_is_never_below_pure_dp() -> None:
    law = KnownLomax("5")
    approximate = law.calibrate(sd.ApproxDP(1, delta="1e-6"), smoothing="0.05")
    pure = law.calibrate(sd.PureDP(1), smoothing="0.05")
    assert pure.exact_shift <= approximate.exact_shift < pure.exact_shift * Fraction("1.01")


def test_nothing_is_claimed_of_orders_that_nobody_knows() -> None:
    law = Lomax("5")
    for smoothing in ("0", "0.1"):
        with pytest.raises(OutOfReach, match="a law whose growth is proved"):
            law.calibrate(sd.ZCDP("1/2"), smoothing=smoothing)
    assert law.calibrate(sd.TruncatedCDP("1/2", omega=4), smoothing=0).shift > 0


def test_no_paper_is_about_it() -> None:
    for method in ("paper", "closed_form"):
        with pytest.raises(InvalidParameter, match="the law is in no paper"):
            Lomax("5").calibrate(sd.PureDP(1), smoothing="0.1", method=method)


@pytest.mark.parametrize("dilation", ["0", "1/10"])
def test_a_tail_that_is_not_known_is_no_small_loss(dilation: str) -> None:
    """Where the law says nothing, bounds are nan inside: they once became 0."""
    truth = 2.0 if dilation == "0" else math.inf
    lower, upper = Logistic().max_divergence_bounds(shift=2, dilation=dilation)
    assert lower <= truth <= upper * (1 + 1e-15)


@pytest.mark.parametrize("dilation", [pytest.param("0", marks=pytest.mark.slow), "1/10"])
def test_a_tail_that_is_not_known_is_no_small_delta(dilation: str) -> None:
    """At shift 2 and epsilon = 1/2 it is at least P(Z <= 0) - e^(1/2) P(e^t Z + 2 <= 0)."""
    least = 0.5 - math.exp(0.5) / (1 + math.exp(2 * math.exp(-float(Fraction(dilation)))))
    assert Logistic().delta_bounds("1/2", shift=2, dilation=dilation)[1] >= least


def test_a_bounded_score_serves_pure_dp() -> None:
    class KnownLogistic(Logistic):
        def _growth(self) -> Growth:
            return Growth(Fraction(1), exponent=1)

    assert KnownLogistic().calibrate(sd.PureDP(1), smoothing=0).exact_shift == 1
    with pytest.raises(InvalidParameter, match="light tail loses without bound"):
        KnownLogistic().calibrate(sd.PureDP(1), smoothing="0.1")
    with pytest.raises(InvalidParameter, match=r"infinite from order 10\.5"):
        KnownLogistic().calibrate(sd.ZCDP(1), smoothing="0.1")


def test_the_best_shape_of_an_unknown_family() -> None:
    found = best_shape(KnownLomax, sd.PureDP(1), smoothing="0.1")
    # The power may reach epsilon / smoothing + 1, and is best there.
    assert 10.9 < found.exact_power < 11
    around = [found.exact_power * Fraction(share) for share in ("0.8", "0.9")]
    cost = [
        law.standard_deviation / law.calibrate(sd.PureDP(1), smoothing="0.1").shift
        for law in (found, *map(KnownLomax, around))
    ]
    assert cost[0] == min(cost)


def test_a_namesake_does_not_get_the_shipped_calibrations() -> None:
    guarantee, t = sd.ZCDP("1/2"), Fraction(1, 10)
    shipped = best_shape(sd.noise.StudentT, guarantee, smoothing=t)
    assert shipped_claim(shipped, guarantee, t) is not None

    namesake = type("StudentT", (sd.noise.StudentT,), {"__module__": __name__})
    assert shipped_claim(namesake(shipped.exact_degrees), guarantee, t) is None


class _Tenth(Laplace):
    """Laplace noise of a tenth of the scale, which inherits theorems about the whole scale."""

    def _log_density(self, a: FloatArray) -> FloatArray:
        return math.log(5) - 10 * a

    def _log_survival(self, a: FloatArray) -> FloatArray:
        return -math.log(2) - 10 * a

    def _tail_quantile(self, log_tail: FloatArray) -> FloatArray:
        return -(log_tail + math.log(2)) / 10

    def _central_quantile(self, mass: FloatArray) -> FloatArray:
        return -np.log1p(-2 * mass) / 10

    def _moment(self, k: int) -> float:
        return float(math.factorial(k) / 10**k)

    def _ball_log_density(self, v: Ball) -> Ball:
        return special.number(5.0).log() - 10 * v.exp()

    def _ball_log_peak(self) -> Ball:
        return special.number(5.0).log()

    def _ball_elasticity(self, v: Ball) -> Ball:
        return 10 * v.exp()

    def _ball_survival(self, x: Ball) -> Ball:
        return (-10 * x).exp() / 2

    def lazy(self) -> LazyLaw:
        return LazyLaw(1, lambda: lambda positive, u: (-u.log() if positive else u.log()) / 10)


class _NearStudent(StudentT):
    """Student's T whose balls alone are changed."""

    def _ball_log_density(self, v: Ball) -> Ball:
        return super()._ball_log_density(v + special.number(10.0).log())


class _HelperChanged(PolyPlace):
    """PolyPlace whose density changes through a helper alone."""

    def _shape(self) -> Ball:
        return super()._shape() + 1


@pytest.mark.parametrize("law", [_Tenth(), _NearStudent(3), _HelperChanged(5)], ids=repr)
def test_a_changed_density_has_no_inherited_theorems(law: NoiseDistribution) -> None:
    """Its exact loss at shift 1 is 10, and calibration would have called shift 1 proved."""
    use: list[Callable[[], object]] = [
        lambda: law.calibrate(sd.PureDP(1), smoothing=0),
        lambda: law.calibrate(sd.PureDP(1), smoothing="0.05", method="paper"),
        lambda: law.calibrate(sd.ZCDP("0.5"), smoothing="0.05"),
        lambda: law.max_divergence(shift=1, dilation=0),
        lambda: law.delta(1, shift=1, dilation=0),
        lambda: law.renyi(2, shift=1, dilation=0),
        lambda: sd.release([0, 1] * 50, sd.queries.Mean((0, 1)), guarantee=sd.PureDP(1), noise=law),
    ]
    for call in use:
        with pytest.raises(
            sd.errors.InvalidParameter, match=r"whose density is its own|density of its own"
        ):
            call()


class _Renamed(Laplace):
    """A subclass that changes no density keeps its theorems."""


def test_a_subclass_that_changes_nothing_keeps_its_theorems() -> None:
    claim = _Renamed().calibrate(sd.PureDP(1), smoothing=0)
    assert (claim.shift, claim.label) == (1.0, "proved")
