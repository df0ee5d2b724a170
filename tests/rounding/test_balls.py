"""From balls and exact numbers to floats: outwards, where the nearest float is not."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction

import mpmath
import pytest
from flint import arb

from smoothdp.claims.excess import (
    log_distance_bound,
    log_gaussian_excess,
    log_gaussian_square_excess,
)
from smoothdp.exact.balls.balls import (
    ball,
    exp_bounds,
    expm1_fixed,
    precision,
    real_fixed,
    round_down,
    round_up,
)
from smoothdp.exact.balls.compare import at_most, normal_upper_quantile
from smoothdp.exact.balls.log_normal import log_transform_ball
from smoothdp.exact.balls.shown import shown
from smoothdp.exact.balls.special import (
    Ball,
    complex_ball,
    log,
    log_probability,
    normal_log_density,
    normal_tail,
    number,
    real,
    undefined,
)
from smoothdp.exact.parameters.numbers import LogRatio, float_bounds
from smoothdp.training_runs.gaussian_step.one_step import log_mixture_excess
from tests.rounding.certain import between, bits, exact, exp_of

F = Fraction


def rationals(count: int) -> Iterator[Fraction]:
    rng = random.Random(1)
    for _ in range(count):
        yield F(rng.randint(-(10**20), 10**20), rng.randint(1, 10**20))


def test_ends_of_balls() -> None:
    wrong = 0
    for value in rationals(300):
        with precision(128):
            number = ball(value)
            down, up = round_down(number), round_up(number)
        assert F(down) <= value <= F(up)
        wrong += F(float(value)) > value
    assert 100 < wrong < 200


def test_floats_beside_rationals() -> None:
    for value in rationals(300):
        lower, upper = float_bounds(value)
        assert F(lower) <= value <= F(upper)
        assert math.nextafter(lower, math.inf) >= upper


def test_exponentials_of_exact_numbers() -> None:
    for value in (F(711), F(10**6)):
        assert exp_bounds(value).upper == math.inf
    for value in (F(1, 3), F(-7, 2), F(500)):
        bounds = exp_bounds(value)
        assert between(bounds.lower, exp_of(value), bounds.upper)


@pytest.mark.parametrize(
    "value", [F(1, 3), F(5, 2), F(-1, 7), LogRatio(F(51, 49)), LogRatio(F(7, 3))]
)
def test_fixed_point(value: F | LogRatio) -> None:
    for places in (0, 4, 40):
        lower, upper = expm1_fixed(value, places)
        scale = 1 << places
        if isinstance(value, LogRatio):
            assert lower <= (value.ratio - 1) * scale <= upper
        else:
            with bits():
                truth = (exact(value).exp() - 1) * scale
                assert arb(lower) <= truth
                assert arb(upper) >= truth
        low, high = real_fixed(value, places)
        with bits():
            number = exact(value.ratio).log() if isinstance(value, LogRatio) else exact(value)
            assert arb(low) - number * scale <= 0
            assert arb(high) - number * scale >= 0


def ratio_of(power: Fraction) -> Fraction:
    """Return a rational whose logarithm is within 1e-60 of a rational."""
    with bits():
        mantissa, exponent = (int(part) for part in exact(power).exp().mid().man_exp())
    return F(mantissa) * F(2) ** exponent


def test_logarithms_are_printed_from_the_right_side() -> None:
    """A logarithm a hair beside 1/2: the float below and the float above print differently."""
    half = F(1, 2)
    above, below = (LogRatio(ratio_of(half + hair)) for hair in (F(1, 10**30), F(-1, 10**30)))
    assert F(Decimal(shown(above, rounding="up"))) > half
    assert F(Decimal(shown(above, rounding="down"))) <= half
    assert F(Decimal(shown(below, rounding="up"))) >= half
    assert F(Decimal(shown(below, rounding="down"))) < half


def test_equal_numbers_are_at_most_each_other() -> None:
    assert at_most(F(1, 3), F(2, 6))
    assert at_most(LogRatio(F(3)), LogRatio(F(3)))
    assert not at_most(LogRatio(F(3)), F(1))


@pytest.mark.parametrize("seed", range(3))
def test_normal_quantiles(seed: int) -> None:
    rng = random.Random(seed)
    for log_tail in [-math.exp(rng.uniform(-0.4, 6)) for _ in range(60)]:
        lower, upper = normal_upper_quantile(log_tail)
        with bits():
            tails = [(exact(x) / arb(2).sqrt()).erfc() / 2 for x in (lower, upper)]
            share = exact(log_tail).exp()
            assert tails[0] >= share
            assert tails[1] <= share


@pytest.mark.parametrize("mu", [F(1, 2 * 10**6), F(1, 5 * 10**6)])
def test_tails_far_out_are_not_nothing(mu: Fraction) -> None:
    """Beyond a million deviations a simple bound stands in: not below the truth, and no 0.

    With x = 1/mu - mu/2 and Mills' ratio R, delta is phi(x) (R(x) - R(x + mu)), and
    -R'(x) = 1 - x R(x) is above 1 / (x^2 + 3).
    """

    def truth() -> arb:
        m = exact(mu)
        x = 1 / m - m / 2
        return -x * x / 2 - (2 * arb.pi()).log() / 2 + (m / ((x + m) ** 2 + 3)).log()

    assert between(-math.inf, truth, log_gaussian_excess(mu, F(1)).upper)
    assert between(-math.inf, truth, log_gaussian_square_excess(mu * mu, F(1)).upper)


@pytest.mark.parametrize("rho", [F(1, 10**6), F(1, 50), F(1, 2), F(3)])
def test_total_variation_of_a_gaussian_is_within_its_bound(rho: Fraction) -> None:
    """N(mu, 1) against N(0, 1), mu^2 = 2 rho, has D_1 = rho, and 2 Phi(mu / 2) - 1."""

    def truth() -> arb:
        return ((2 * exact(rho)).sqrt() / 2 / arb(2).sqrt()).erf().log()

    assert between(-math.inf, truth, log_distance_bound(rho).upper)


@pytest.mark.parametrize("sigma", [F(1, 4), F(3, 5), F(8, 5)])
@pytest.mark.parametrize("log_z", [-3.0, 0.4, 2.0, 9.0])
def test_the_transform_holds_what_more_bits_say(sigma: Fraction, log_z: float) -> None:
    """At every precision the ball contains the value that 400 bits give."""
    with bits(400):
        sharp = log_transform_ball(exact(log_z), sigma)
    for count in (64, 96, 128, 200):
        with bits(count):
            found = log_transform_ball(exact(log_z), sigma)
        with bits(400):
            assert found.overlaps(sharp)
            assert float(found.rad()) < 1e-9


@pytest.mark.parametrize("k", [1, 60, 300, 1000])
def test_logarithms_of_probabilities_are_held_and_never_above_0(k: int) -> None:
    """Where nearly all cancels the precision rises; the truth is a logarithm of a rational."""
    rest = 1 - F(1, 3**k)

    def small() -> Ball:
        # 64 bits do not tell it from 0.
        return log(1 - ball(rest))

    def near_0() -> Ball:
        return log(ball(rest))

    bounds = log_probability(small, bits=64)
    with mpmath.workprec(200):
        assert bounds.lower <= -k * mpmath.log(3) <= bounds.upper
    assert bounds.upper - bounds.lower <= 4 * math.ulp(bounds.upper)
    bounds = log_probability(near_0, bits=64)
    with mpmath.workprec(4000):
        assert bounds.lower <= mpmath.log(1 - mpmath.mpf(1) / 3**k) <= bounds.upper <= 0.0


def test_logarithms_of_what_cannot_be_told_from_1() -> None:
    """A ball around 0 is cut at 0; one that never becomes a number says nothing."""
    assert log_probability(lambda: arb(0, 1e-20), bits=64).upper == 0.0
    assert log_probability(undefined, bits=1 << 16) == (-math.inf, 0.0)


def test_complex_balls_have_the_parts_given() -> None:
    rng = random.Random(2)
    for _ in range(20):
        x, y = rng.uniform(-5, 5), rng.uniform(-50, 50)
        with precision(128):
            found = real(complex_ball(number(x), number(y)).exp())
            low, high = round_down(found), round_up(found)
        with mpmath.workprec(200):
            assert low <= mpmath.exp(mpmath.mpc(x, y)).real <= high
        assert math.nextafter(low, math.inf) >= high


def test_normal_tails_far_out_are_those_of_the_error_function() -> None:
    """At 2,000 bits the library's erfc is still narrow where it is 50 bits wide at 128."""
    source = random.Random(8)
    for _ in range(200):
        x, bits = source.uniform(20_001, 100_000), source.choice([64, 128, 192, 500])
        with precision(bits):
            ours = normal_tail(arb(x))
        with precision(3000):
            truth = (arb(x) / arb(2).sqrt()).erfc() / 2
        assert ours.contains(truth)
        assert ours.rel_accuracy_bits() > bits - 45


@pytest.mark.parametrize("x", [1e6, 3e7, 1e9, 1e12])
def test_normal_tails_very_far_out_are_narrow_and_lie_between_mills_bounds(x: float) -> None:
    with precision(300):
        place = arb(x)
        tail, density = normal_tail(place).log(), normal_log_density(place)
        assert tail.rel_accuracy_bits() > 250
        assert density + (place / (place * place + 1)).log() < tail < density - place.log()


def test_a_step_at_millions_of_epsilon_has_a_delta_below_one() -> None:
    """It was bounded by 1, and took a tenth of a second; a search for epsilon took 18 minutes."""
    found = log_mixture_excess(F(101, 500), F(50, 113), F(5_119_852))
    assert -7e13 < found.lower <= found.upper < -6e13
    assert found.upper - found.lower < 1
