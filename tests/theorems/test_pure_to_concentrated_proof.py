"""proofs/pure-to-concentrated: the least rho of zCDP that pure DP implies."""

from __future__ import annotations

import math
import random
from fractions import Fraction

import mpmath
import pytest

from smoothdp import ZCDP, LaplaceMechanism, PureDP
from smoothdp.claims.excess import rho_of_pure
from smoothdp.exact.parameters.numbers import LogRatio, Real

ORDERS = ("1.0000001", "1.01", "1.5", "2", "7", "60", "1000")


def divergence(p: list[mpmath.mpf], q: list[mpmath.mpf], order: mpmath.mpf) -> mpmath.mpf:
    """Return the Renyi divergence of two laws on the same points."""
    total = mpmath.fsum(b * (a / b) ** order for a, b in zip(p, q, strict=True))
    return mpmath.log(total) / (order - 1)


def random_pair(rng: random.Random, epsilon: float) -> tuple[list[mpmath.mpf], list[mpmath.mpf]]:
    """Return laws of two to five points whose losses lie in [-epsilon, epsilon]."""
    while True:
        size = rng.randint(2, 5)
        q = [mpmath.mpf(rng.random()) ** 2 + 1e-9 for _ in range(size)]
        q = [b / mpmath.fsum(q) for b in q]
        p = [b * mpmath.exp(rng.choice((-1, 1, rng.uniform(-1, 1))) * epsilon) for b in q]
        p = [a / mpmath.fsum(p) for a in p]
        if all(abs(mpmath.log(a / b)) <= epsilon for a, b in zip(p, q, strict=True)):
            return p, q


def test_no_pair_is_above_it() -> None:
    rng = random.Random(1)
    with mpmath.workdps(60):
        for epsilon in (0.05, 0.7, 2.0, 5.0):
            rho = float(rho_of_pure(Fraction(epsilon)))
            for _ in range(60):
                p, q = random_pair(rng, epsilon)
                for order in ORDERS:
                    a = mpmath.mpf(order)
                    assert divergence(p, q, a) <= a * rho * (1 + 1e-12)


def test_randomised_response_refutes_less() -> None:
    with mpmath.workdps(80):
        for epsilon in ("0.01", "1", "3", "12"):
            e = mpmath.mpf(epsilon)
            truth = [1 / (1 + mpmath.exp(-e)), 1 / (1 + mpmath.exp(e))]
            order = 1 + mpmath.mpf(10) ** -30
            rho = rho_of_pure(Fraction(epsilon))
            needed = divergence(truth, truth[::-1], order) / order
            exact = mpmath.mpf(rho.numerator) / rho.denominator
            assert needed <= exact
            assert needed > exact * (1 - mpmath.mpf(10) ** -18)


def test_the_rational_is_rounded_up() -> None:
    """Short, never below the truth, and above it by less than 1e-19 of it: 1e-200 to 1e400."""
    epsilons: list[Real] = [Fraction(10) ** power for power in (-200, -5, -1, 0, 1, 3, 400)]
    epsilons += [Fraction(7, 3), LogRatio(Fraction(3)), LogRatio(1 + Fraction(1, 10**30))]
    with mpmath.workdps(900):
        for epsilon in epsilons:
            exact = (
                mpmath.log(mpmath.mpf(epsilon.ratio.numerator) / epsilon.ratio.denominator)
                if isinstance(epsilon, LogRatio)
                else mpmath.mpf(epsilon.numerator) / epsilon.denominator
            )
            truth = exact * mpmath.tanh(exact / 2)
            rho = rho_of_pure(epsilon)
            value = mpmath.mpf(rho.numerator) / rho.denominator
            assert truth <= value <= truth * (1 + mpmath.mpf(10) ** -19)
    assert rho_of_pure(Fraction(0)) == 0


@pytest.mark.parametrize(
    ("epsilon", "enough", "less"), [("2", "1.5232", "1.5231"), ("4", "3.86", "3.85")]
)
def test_implies_by_the_least_rho(epsilon: str, enough: str, less: str) -> None:
    assert PureDP(epsilon).implies(ZCDP(enough))
    assert not PureDP(epsilon).implies(ZCDP(less))


def test_bounded_range_costs_more() -> None:
    """Losses in [-2, 2] need 2 tanh 1; a quarter of the figure for epsilon = 4 is tanh 2."""
    truth = [1 / (1 + math.exp(-2)), 1 / (1 + math.exp(2))]
    needed = sum(a * math.log(a / b) for a, b in zip(truth, truth[::-1], strict=True))
    assert needed == pytest.approx(2 * math.tanh(1))
    assert float(rho_of_pure(Fraction(4))) / 4 < needed < 4**2 / 8


def laplace_divergence(alpha: mpmath.mpf, order: mpmath.mpf) -> mpmath.mpf:
    """Return the Renyi divergence of two Laplace laws, by quadrature on the three intervals."""

    def density(x: mpmath.mpf) -> mpmath.mpf:
        return mpmath.exp(-abs(x)) / 2

    def ratio(x: mpmath.mpf) -> mpmath.mpf:
        return mpmath.exp((abs(x - alpha) - abs(x)) * order) * density(x - alpha)

    middle = mpmath.quad(ratio, [0, alpha])
    # Beyond the two centres the ratio is constant.
    outside = mpmath.exp(alpha * order) * mpmath.exp(-alpha) / 2 + mpmath.exp(-alpha * order) / 2
    return mpmath.log(middle + outside) / (order - 1)


def test_laplace_needs_no_more() -> None:
    with mpmath.workdps(40):
        for alpha in ("0.01", "0.3", "1", "2.5", "8", "30"):
            rho = LaplaceMechanism(1, alpha).concentrated_rho()
            exact = mpmath.mpf(rho.numerator) / rho.denominator
            for order in ORDERS[:-1]:
                a = mpmath.mpf(order)
                assert laplace_divergence(mpmath.mpf(alpha), a) <= a * exact


def test_laplace_needs_no_less() -> None:
    with mpmath.workdps(60):
        for alpha in ("0.01", "1", "8"):
            rho = LaplaceMechanism(1, alpha).concentrated_rho()
            exact = mpmath.mpf(rho.numerator) / rho.denominator
            order = 1 + mpmath.mpf(10) ** -25
            needed = laplace_divergence(mpmath.mpf(alpha), order) / order
            assert exact * (1 - mpmath.mpf(10) ** -15) < needed <= exact
            assert rho <= Fraction(alpha) ** 2 / 2
            assert rho < rho_of_pure(Fraction(alpha))
