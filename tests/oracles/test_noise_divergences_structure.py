"""What every divergence of a noise law obeys, what it refuses, and where floats end."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise
from typing import Any

import pytest

from smoothdp.errors import InvalidParameter
from smoothdp.noise import ArsinhNormal, Gaussian, LaplaceLogNormal, NoiseDistribution, StudentT
from tests.oracles.noise_law_formulas import law_cases

Place = dict[str, Any]


@pytest.mark.parametrize("law", law_cases(LaplaceLogNormal("0.5")))
class TestStructure:
    def test_both_directions_by_duality(self, law: NoiseDistribution) -> None:
        # D(e^t Z + s || Z) = D(Z || e^-t Z + s e^-t); shift e^-t s rounded to a rational.
        t, s = Fraction(1, 5), Fraction(2, 5)
        turned = Fraction(math.exp(-t)) * s
        for order in ("1", "3"):
            reverse = law.renyi(order, shift=s, dilation=t, direction="reverse")
            forward = law.renyi(order, shift=turned, dilation=-t)
            assert math.isclose(reverse, forward, rel_tol=1e-10) or reverse == forward

    def test_sign_of_the_shift_means_nothing(self, law: NoiseDistribution) -> None:
        place: Place = {"dilation": "0.1"}
        assert law.renyi(2, shift=1, **place) == law.renyi(2, shift=-1, **place)
        assert law.delta("0.1", shift=1, **place) == law.delta("0.1", shift=-1, **place)

    def test_rises_with_the_order_and_the_shift(self, law: NoiseDistribution) -> None:
        orders = ["1", "1.0001", "1.1", "2", "10", "300", "inf"]
        values = [law.renyi_bounds(a, shift="0.4", dilation="0.1") for a in orders]
        assert all(a[0] <= b[1] for a, b in pairwise(values))
        shifts = ["0", "0.001", "0.1", "1", "10"]
        values = [law.renyi_bounds(2, shift=s, dilation="0.1") for s in shifts]
        assert all(a[1] <= b[0] for a, b in pairwise(values))

    def test_delta_falls_and_is_convex(self, law: NoiseDistribution) -> None:
        grid = [0.0, 0.1, 0.2, 0.3, 0.4]
        place: Place = {"shift": "0.5", "dilation": "0.1"}
        values = [law.delta(e, direction="reverse", **place) for e in grid]
        assert all(b <= a for a, b in pairwise(values))
        # Convex in e^epsilon.
        slopes = [
            (b - a) / (math.exp(y) - math.exp(x))
            for (x, a), (y, b) in pairwise(zip(grid, values, strict=True))
        ]
        assert all(a <= b + 1e-12 for a, b in pairwise(slopes))

    def test_no_change_no_loss(self, law: NoiseDistribution) -> None:
        nowhere: Place = {"shift": 0, "dilation": "0.0"}
        assert law.renyi(5, **nowhere) == 0.0
        assert law.delta(0, **nowhere) == 0.0
        assert law.max_divergence(**nowhere) == 0.0

    def test_tiny_shifts_keep_their_digits(self, law: NoiseDistribution) -> None:
        # D_a is about a s^2 I / 2: four times as much at twice the shift, where I is finite.
        small = law.renyi_bounds(2, shift="1e-6", dilation=0)
        assert small[1] - small[0] < 1e-9 * small[1]
        double = law.renyi(2, shift="2e-6", dilation=0)
        assert math.isclose(double, 4 * small[1], rel_tol=1e-2)

    def test_bad_input(self, law: NoiseDistribution) -> None:
        place: Place = {"shift": 1, "dilation": "0.1"}
        for order in (0, "0.99", -1, math.nan, True, "x"):
            with pytest.raises(InvalidParameter):
                law.renyi(order, **place)
        for epsilon in (-1, "-1e-9", math.nan, math.inf, True):
            with pytest.raises(InvalidParameter):
                law.delta(epsilon, **place)
        for wrong in (math.nan, math.inf, "a"):
            with pytest.raises(InvalidParameter):
                law.max_divergence(shift=wrong, dilation=0)
            with pytest.raises(InvalidParameter):
                law.max_divergence(shift=0, dilation=wrong)
        with pytest.raises(InvalidParameter):
            law.renyi(2, direction="both", **place)  # type: ignore[arg-type]


class TestWhereFloatsEnd:
    def test_delta_below_the_smallest_float(self) -> None:
        law = ArsinhNormal("0.4")
        place: Place = {"shift": "0", "dilation": "1e-4"}
        bounds = law.log_delta_bounds(1, direction="reverse", **place)
        assert bounds.upper < -1000
        assert bounds.upper - bounds.lower < 1e-9
        assert law.delta_bounds(1, direction="reverse", **place) == (0.0, 5e-324)
        # {loss > 1} begins where sinh(sigma y) / sigma is huge: there L = y t / sigma + t^2 (...)
        # and ln delta is about ln of the two normal tails.
        y = 1e4 * float(Fraction("0.4")) * (1 - 0.16e-4)
        assert math.isclose(bounds.upper, -y * y / 2, rel_tol=1e-2)

    def test_zero_is_proved(self) -> None:
        law = StudentT(3)
        place: Place = {"shift": "0.5", "dilation": "0.1"}
        most = law.max_divergence(**place)
        assert law.delta(most * (1 + 1e-12), direction="reverse", **place) == 0.0
        assert law.delta(most * (1 - 1e-6), direction="reverse", **place) > 0.0

    def test_epsilon_at_the_limit_of_the_tail(self) -> None:
        # The loss of a power tail tends to d t = 0.3, from above on one side.
        lower, upper = StudentT(3).delta_bounds(
            "0.3", shift="0.5", dilation="0.1", direction="reverse"
        )
        around = [
            StudentT(3).delta(e, shift="0.5", dilation="0.1", direction="reverse")
            for e in ("0.299999999", "0.300000001")
        ]
        assert around[1] <= lower <= upper <= around[0]
        assert upper - lower < 1e-12 * upper

    @pytest.mark.parametrize("t", ["1e-3", "-1e-3", "1", "-2"])
    def test_gaussian_and_laplace_against_the_general_method(self, t: str) -> None:
        # A Student law of many degrees is near the Gaussian one.
        near, law = StudentT("1e6"), Gaussian()
        place: Place = {"shift": "0.5", "dilation": t}
        for epsilon in ("0", "0.3", "1"):
            assert math.isclose(
                near.delta(epsilon, **place),
                law.delta(epsilon, **place),
                rel_tol=1e-3,
                abs_tol=1e-12,
            )

    def test_infinite_and_nearly_infinite_orders(self) -> None:
        # The Gaussian divergence to a narrower copy ends at order 1 / (1 - e^(-2t)).
        law, t = Gaussian(), Fraction(1, 10)
        end = 1 / -math.expm1(-0.2)
        place: Place = {"shift": 1, "dilation": t}
        assert law.renyi(end * (1 - 1e-9), direction="reverse", **place) < 1e12
        assert law.renyi(end * (1 + 1e-9), direction="reverse", **place) == math.inf
        # A large finite order lies below the supremum.
        student = StudentT(3)
        assert student.renyi(10**7, **place) <= student.renyi("inf", **place)
        assert student.renyi(10**7, **place) > 0.99 * student.renyi("inf", **place)
