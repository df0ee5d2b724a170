"""The page of proofs on noise for pure DP, attacked: losses from densities, exact rationals."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from smoothdp.claims.guarantees.standard import PureDP
from smoothdp.noise import GeneralizedCauchy, Laplace, PolyPlace, StudentT
from smoothdp.noise.calibration.lower_bounds import (
    log_tail_lower_bound,
    pure_variance,
    variance_lower_bound,
)
from smoothdp.noise.calibration.pure import pure_shift
from smoothdp.noise.calibration.staircase import staircase_variance
from smoothdp.noise.law import NoiseDistribution
from smoothdp.noise.laws.poly_place import poly_place_closed_shift

Potential = Callable[[Fraction], Fraction]

# ---- statement 1 ---------------------------------------------------------------------------------


def knee(power: int, steep: int = 0) -> Potential:
    """Return e^phi: 1 up to x = 1, then x^power; from 2 on the power is higher by ``steep``."""

    def growth(x: Fraction) -> Fraction:
        far = max(Fraction(1), abs(x) / 2) ** steep
        return max(Fraction(1), abs(x)) ** power * far

    return growth


def largest(growth: Potential, shift: Fraction, r: Fraction) -> tuple[Fraction, Fraction]:
    """Return e^F and e^R by all y of a grid on both sides of 0, from the densities alone."""
    grid = [Fraction(j, 4) for j in range(-40, 41)]
    grid += [shift + r * y for y in grid]
    forward = max(r * growth((y - shift) / r) / growth(y) for y in grid)
    return forward, max(growth(y) / (r * growth((y - shift) / r)) for y in grid)


def formula(growth: Potential, shift: Fraction, r: Fraction) -> tuple[Fraction, Fraction]:
    """Return both by phi* over w >= 0; the same grid on one side."""
    grid = [Fraction(j, 4) for j in range(41)]
    ways = []
    for a, b, factor in ((shift / r, 1 / r, r), (shift, r, 1 / r)):
        w = grid + [abs(shift + r * y) for y in grid] + [abs((y - shift) / r) for y in grid]
        ways.append(max(growth(a + b * v) / growth(v) for v in w) * factor)
    return ways[0], ways[1]


@pytest.mark.parametrize("steep", [0, 3])
@pytest.mark.parametrize("shift", [Fraction(0), Fraction(1, 4), Fraction(3)])
def test_the_loss_is_the_supremum_and_convex(steep: int, shift: Fraction) -> None:
    """In exact rationals; dilations are powers of 5/4, so equal steps of u."""
    growth = knee(3, steep)
    found = []
    for k in range(-3, 6):
        r = Fraction(5, 4) ** k
        values = largest(growth, shift, r)
        assert all(v <= w for v, w in zip(values, formula(growth, shift, r), strict=True))
        smaller = largest(growth, shift / 2, r)
        assert all(v <= w for v, w in zip(smaller, formula(growth, shift, r), strict=True))
        found.append(formula(growth, shift, r))
    assert found[3][0] == found[3][1]  # u = 0
    # The supremum over a finite set of w is convex as well if the set is the same for all u.
    grid = [Fraction(j, 64) for j in range(0, 4000, 41)]
    for way in (0, 1):
        sups = []
        for k in range(-3, 6):
            r = Fraction(5, 4) ** k
            a, b, factor = ((shift / r, 1 / r, r), (shift, r, 1 / r))[way]
            sups.append(max(growth(a + b * w) / growth(w) for w in grid) * factor)
        for before, here, after in zip(sups, sups[1:], sups[2:], strict=False):
            assert here * here <= before * after


def test_without_the_assumption_an_inner_dilation_is_the_worst() -> None:
    """The elasticity is 0, 70, 0, 4."""

    def phi(x: float) -> float:
        steep = min(70 * math.log(max(x, 1)), math.log(2))
        return steep + 4 * math.log(max(x / 2, 1))

    w = np.linspace(0, 30, 60_001).tolist()

    def reverse(r: float) -> float:
        return max(phi(r * v) - phi(v) for v in w) - math.log(r)

    inner, end = reverse(1.01), reverse(1.1)
    assert inner == pytest.approx(math.log(2) - math.log(1.01), abs=1e-3)
    assert end <= math.log(2) - math.log(1.1) + 1e-12
    assert inner > max(end, 0) + 0.05


# ---- statement 2 ---------------------------------------------------------------------------------

Family = tuple[
    Callable[[str], NoiseDistribution],
    Callable[[str], Callable[[mpmath.mpf], mpmath.mpf]],
    tuple[str, ...],
    Callable[[Fraction], Fraction],
]
"""A law, its potential, shapes, and E - 1 from the shape."""

mp = mpmath.mp.clone()
mp.dps = 30


def student(d: str) -> Callable[[mpmath.mpf], mpmath.mpf]:
    return lambda x: (mp.mpf(d) + 1) / 2 * mp.log(mp.mpf(d) + x * x)


def cauchy(c: str) -> Callable[[mpmath.mpf], mpmath.mpf]:
    return lambda x: mp.log(1 + mp.power(abs(x), mp.mpf(c)))


def poly_place(alpha: str) -> Callable[[mpmath.mpf], mpmath.mpf]:
    a = mp.mpf(alpha)
    kappa = (a + 1) * mp.log((a + 1) / a) + (a - 1) * mp.log((a - 1) / a)

    def phi(x: mpmath.mpf) -> mpmath.mpf:
        y = abs(x)
        inside = y * a <= 1
        return -(a - 1) * mp.log(1 - y) if inside else (a + 1) * mp.log(1 + y) - kappa

    return phi


LAWS: list[Family] = [
    (StudentT, student, ("0.4", "1", "3", "9"), lambda d: d),
    (GeneralizedCauchy, cauchy, ("1.2", "2", "4"), lambda c: c - 1),
    (PolyPlace, poly_place, ("1.5", "3", "10"), lambda a: a),
]


def test_elasticities_and_scores() -> None:
    """x phi' rises to E; phi' has the largest value c, which `growth` gives."""
    for law, potential, shapes, power in LAWS:
        for shape in shapes:
            phi = potential(shape)
            growth = law(shape).growth()
            assert growth.score is not None
            assert growth.power == power(Fraction(shape))
            elasticity, slopes = [], []
            for k in range(-160, 240):
                x = mp.mpf(10) ** (mp.mpf(k) / 40)
                slope = mp.diff(phi, x)
                elasticity.append(x * slope)
                slopes.append(slope)
            limit = float(growth.power + 1)
            steps = np.diff([float(e) for e in elasticity])
            assert steps.min() >= -1e-9
            assert float(elasticity[-1]) == pytest.approx(limit, rel=1e-2)
            assert max(elasticity) <= limit
            assert float(max(slopes)) <= float(growth.score) * (1 + 1e-9)
            assert float(max(slopes)) >= float(growth.score) * 0.99


def worst(phi: Callable[[mpmath.mpf], mpmath.mpf], s: mpmath.mpf, u: mpmath.mpf) -> mpmath.mpf:
    """Return the larger of F and R, from the loss of the two densities at many y, both signs."""
    r = mp.exp(u)

    def loss(y: mpmath.mpf) -> mpmath.mpf:
        return abs(phi((y - s) / r) + u - phi(y))

    grid = [mp.mpf(10) ** (mp.mpf(k) / 12) for k in range(-48, 120)]
    grid = [
        *(-y for y in grid),
        *grid,
        *(s - y for y in grid),
        *(s + y for y in grid),
        s,
        mp.mpf(0),
    ]
    grid.sort()
    losses = [loss(y) for y in grid]
    best = max(losses)
    for at in sorted(range(1, len(grid) - 1), key=lambda i: losses[i])[-3:]:
        low, high = grid[at - 1], grid[at + 1]
        for _ in range(40):
            one, two = low + (high - low) * 0.382, low + (high - low) * 0.618
            low, high = (low, two) if loss(one) > loss(two) else (one, high)
        best = max(best, loss((low + high) / 2))
    return best


@pytest.mark.parametrize(("law", "potential", "shapes", "power"), LAWS)
def test_scores_are_safe(
    law: Callable[[str], NoiseDistribution],
    potential: Callable[[str], Callable[[mpmath.mpf], mpmath.mpf]],
    shapes: tuple[str, ...],
    power: Callable[[Fraction], Fraction],
) -> None:
    """max(1, E - 1) t + c s bounds the loss, and a dilation alone costs the first term."""
    shape = shapes[-1]
    growth = law(shape).growth()
    assert growth.score is not None
    slope = max(1.0, float(power(Fraction(shape))))
    for s, t in ((0.3, 0.05), (1.0, 0.2)):
        bound = slope * t + float(growth.score) * s
        assert worst(potential(shape), mp.mpf(s), mp.mpf(t)) <= bound
    assert float(worst(potential(shape), mp.mpf(0), mp.mpf("0.1"))) == pytest.approx(
        0.1 * slope, rel=1e-4
    )


# ---- statement 3 ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("d", "epsilon", "t"), [("0.4", 1, "0.7"), ("3", 1, "0.1"), ("9", 2, "0.2")]
)
def test_student_t_against_its_loss(d: str, epsilon: int, t: str) -> None:
    claim = pure_shift(StudentT(d), epsilon, Fraction(t))
    s = mp.mpf(float(claim.exact_shift))
    phi = student(d)
    losses = [worst(phi, s, mp.mpf(t) * k / 4) for k in range(5)]
    assert max(losses) <= epsilon + 1e-12
    assert max(losses[0], losses[-1]) >= epsilon - 1e-9
    assert worst(phi, 1.001 * s, mp.mpf(0)) > epsilon or worst(phi, 1.001 * s, mp.mpf(t)) > epsilon
    # The eigenvalues: their product and sum, from the extreme ratios that were found.
    r, size = mp.exp(mp.mpf(t)), mp.mpf(d)
    ratio = [(size + y * y) / (size + ((y - s) / r) ** 2) for y in mp.linspace(-60, 60, 24_001)]
    top, least = max(ratio), min(ratio)
    assert float(top * least) == pytest.approx(float(r * r), rel=1e-4)
    assert float(top + least) == pytest.approx(float(1 + r * r + s * s / size), rel=1e-4)


@pytest.mark.parametrize(("epsilon", "t"), [("1", "0"), ("1", "0.1"), ("0.3", "0.29"), ("4", "1")])
def test_two_routes_to_the_cauchy_law(epsilon: str, t: str) -> None:
    """One degree of freedom is the power 2: a closed form against a critical point."""
    first = pure_shift(StudentT(1), epsilon, Fraction(t))
    second = pure_shift(GeneralizedCauchy(2), epsilon, Fraction(t))
    assert float(first.exact_shift) == pytest.approx(float(second.exact_shift), rel=1e-12)
    assert first.upper is not None
    assert second.upper is not None
    assert second.exact_shift <= first.upper <= second.upper * (1 + Fraction(1, 10**12))


# ---- statements 4 and 5 --------------------------------------------------------------------------


@pytest.mark.parametrize("alpha", ["1.3", "4", "25"])
def test_poly_place_stationary_value(alpha: str) -> None:
    """The bound of the piece w <= 1 / alpha <= X, attained at w*."""
    phi, a = poly_place(alpha), mp.mpf(alpha)
    rng = random.Random(4)
    attained = 0
    for _ in range(200):
        shift, b = mp.mpf(rng.uniform(0, 2) / float(a)), mp.exp(rng.uniform(-1, 1) / float(a))
        top = 2 * a * mp.log((1 + shift + b) / 2) - (a - 1) * mp.log(b)
        for k in range(11):
            w = k / a / 10
            if shift + b * w >= 1 / a:
                assert phi(shift + b * w) - phi(w) <= top + mp.mpf("1e-25")
        w = ((a + 1) * b - (a - 1) * (1 + shift)) / (2 * a * b)
        if 0 <= w <= 1 / a <= shift + b * w:
            attained += 1
            assert abs(phi(shift + b * w) - phi(w) - top) < mp.mpf("1e-24")
    assert attained > 20


@pytest.mark.parametrize(
    ("alpha", "epsilon", "t"),
    [("10", "1", "0.1"), ("10", "1", "0.02"), ("2.5", "1", "0.4"), ("1.2", "0.5", "0.4")],
)
def test_poly_place_closed_shift_against_its_loss(alpha: str, epsilon: str, t: str) -> None:
    phi, amount = poly_place(alpha), mp.mpf(epsilon)
    s = 2 * mp.expm1(amount / (2 * mp.mpf(alpha)))
    assert (mp.mpf(alpha) - 1) * s <= 2
    claim = pure_shift(PolyPlace(alpha), epsilon, Fraction(t))
    assert float(claim.exact_shift) == pytest.approx(float(s), rel=1e-14)
    for k in range(5):
        assert worst(phi, s, mp.mpf(t) * k / 4) <= amount * (1 + mp.mpf("1e-12"))
    assert worst(phi, s * mp.mpf("1.0001"), mp.mpf(0)) > amount
    # alpha t > epsilon is lost at infinity.
    beyond = amount / mp.mpf(alpha) * mp.mpf("1.01")
    assert worst(phi, s / 10, beyond) > amount


def test_poly_place_closed_shift_is_not_the_largest_for_large_epsilon() -> None:
    """(alpha - 1) s0 > 2 at epsilon = 3, t = .3: a larger shift is found, and it is good."""
    alpha, epsilon, t = Fraction(10), Fraction(3), Fraction(3, 10)
    closed = float(poly_place_closed_shift(alpha, epsilon).mid())
    assert 9 * closed > 2
    s = float(pure_shift(PolyPlace(alpha), epsilon, t).exact_shift)
    assert s > closed * 1.0001
    for k in range(4):
        assert worst(poly_place("10"), mp.mpf(s), mp.mpf("0.1") * k) <= 3 + 1e-12


# ---- statement 6 ---------------------------------------------------------------------------------


@pytest.mark.parametrize("c", [2, 3, 7])
def test_cauchy_has_one_critical_point(c: int) -> None:
    """In exact rationals the derivative changes its sign once, from + to -."""
    grid = [Fraction(2) ** k * (8 + j) / 8 for k in range(-12, 12) for j in range(8)]
    for a in (Fraction(1, 50), Fraction(1), Fraction(9)):
        for b in (Fraction(1, 2), Fraction(9, 10), Fraction(1), Fraction(5, 4), Fraction(3)):
            signs = []
            for w in grid:
                x = a + b * w
                value = b * x ** (c - 1) * (1 + w**c) - w ** (c - 1) * (1 + x**c)
                assert (value > 0) == (b * w ** (1 - c) - x ** (1 - c) > a)
                signs.append(value > 0)
            assert signs[0]
            assert not signs[-1]
            assert signs == sorted(signs, reverse=True)
    # At A = 0 and B > 1 there is none: the loss rises for ever.
    b = Fraction(5, 4)
    assert all(
        b * (b * w) ** (c - 1) * (1 + w**c) > w ** (c - 1) * (1 + (b * w) ** c) for w in grid
    )


# ---- statement 7 ---------------------------------------------------------------------------------

CELLS = 8
LEVELS = 6


def powers(b: Fraction, r: Fraction) -> list[Fraction]:
    return [1 / (1 - b * r**j) for j in range(3)]


def integral_of_k(b: Fraction, r: Fraction, low: Fraction, high: Fraction) -> Fraction:
    """Return the integral of K over [low, high], s = 1."""
    a0, a1, a2 = powers(b, r)
    rho = 1 / (r - 1)
    u, v = low + rho, high + rho
    return a2 * (v**3 - u**3) / 3 - rho * a1 * (v**2 - u**2) + rho**2 * a0 * (v - u)


def image(x: Fraction, r: Fraction, times: int) -> Fraction:
    for _ in range(times):
        x = r * x + 1
    return x


def second_moment(f: list[list[Fraction]], b: Fraction, r: Fraction) -> Fraction:
    """Return E Z^2 of the density f[k][c] on the cells T^k [c/8, (c+1)/8), then b/r of the last."""
    mass = moment = Fraction(0)
    for k, row in enumerate(f):
        for c, value in enumerate(row):
            low, high = (image(Fraction(c + e, CELLS), r, k) for e in (0, 1))
            if k < len(f) - 1:
                mass += value * (high - low)
                moment += value * (high**3 - low**3) / 3
            else:
                # f(T^i x) r^i = f(x) b^i from here on.
                mass += value * (high - low) / (1 - b)
                moment += value * integral_of_k(b, r, low, high)
    return moment / mass


def random_noise(rng: random.Random, b: Fraction, r: Fraction) -> list[list[Fraction]]:
    """Return a density that falls, with f(x + 1) >= b f(x) on [0, 1) and f(Tx) >= b / r f(x)."""
    drops = sorted((Fraction(rng.randrange(101), 100) for _ in range(CELLS - 1)), reverse=True)
    shape = [Fraction(1), *drops]
    if rng.random() < 0.5:  # near the extreme f_g
        turn = rng.randrange(CELLS + 1)
        shape = [Fraction(c < turn) for c in range(CELLS)]
        shape[0] = Fraction(1)
    rows = [[b + (1 - b) * v for v in shape]]
    for k in range(1, LEVELS):
        row: list[Fraction] = []
        for c in range(CELLS):
            least = b / r * rows[-1][c]
            ceiling = row[-1] if row else rows[-1][-1]
            lift = Fraction(rng.randrange(4), 4) if rng.random() < 0.2 else Fraction(0)
            row.append(least + lift * (ceiling - least))
        # What comes later has to be below: raise the earlier cells to the later ones.
        for c in reversed(range(CELLS - 1)):
            row[c] = max(row[c], row[c + 1])
        rows.append(row)
        assert max(row) <= rows[k - 1][-1]
    return rows


def least_variance(b: Fraction, r: Fraction) -> Fraction:
    """Return about V from above, by all g of a fine grid."""
    one = integral_of_k(b, r, Fraction(0), Fraction(1))
    best = None
    for j in range(1025):
        g = Fraction(j, 1024)
        inner = integral_of_k(b, r, Fraction(0), g)
        ratio = (1 - b) * ((1 - b) * inner + b * one) / (b + (1 - b) * g)
        best = ratio if best is None else min(best, ratio)
    assert best is not None
    return best


@pytest.mark.parametrize(("b", "r"), [("1/3", "6/5"), ("3/5", "11/10"), ("1/20", "2")])
def test_variance_of_random_noise_in_exact_rationals(b: str, r: str) -> None:
    share, ratio = Fraction(b), Fraction(r)
    rng = random.Random(7)
    least = least_variance(share, ratio)
    # The library's, at epsilon = -ln b and t = ln r to sixteen digits.
    bound = float(staircase_variance(Fraction(-math.log(share)), Fraction(math.log(ratio))).mid())
    assert bound <= float(least) * (1 + 1e-9)
    assert bound == pytest.approx(float(least), rel=1e-6)
    found = [second_moment(random_noise(rng, share, ratio), share, ratio) for _ in range(150)]
    assert min(found) >= least * (1 - Fraction(1, 10**6))
    assert min(found) < least * Fraction(11, 10)


def test_noise_that_is_not_private_goes_below() -> None:
    """Without the dilation, or with a steeper fall on [0, 1), V is no bound."""
    b, r = Fraction(1, 3), Fraction(6, 5)
    least = least_variance(b, r)
    still = float(variance_lower_bound(PureDP("ln(3)"), shift=1, smoothing=0))
    assert still < float(least) * 0.9
    steep = random_noise(random.Random(1), b, r)
    steep[0] = [Fraction(1)] + [b * b] * (CELLS - 1)
    for k in range(1, LEVELS):
        steep[k] = [v * b / r for v in steep[k - 1]]
    steep[0][0] = Fraction(10)
    assert second_moment(steep, b, r) < least


# ---- statement 8 ---------------------------------------------------------------------------------


def test_bounds_of_any_shape_hold_for_lattice_noise() -> None:
    """At t = 0 the geometric law on whole numbers; under a dilation PolyPlace."""
    epsilon = Fraction(1, 2)
    b = math.exp(-epsilon)
    geometric = 2 * b / (1 - b) ** 2
    assert geometric >= float(pure_variance(epsilon, Fraction(0)).mid())
    for x in (1, 2, 7):
        tail = 2 * b**x / (1 + b)
        bound = math.exp(log_tail_lower_bound(PureDP(epsilon), shift=1, smoothing=0, beyond=x))
        assert bound <= tail
    # A law that is too narrow for its epsilon breaks them.
    narrow = Laplace().variance / 100
    assert narrow < float(pure_variance(epsilon, Fraction(0)).mid())
    # And under a dilation, by the moments of PolyPlace.
    for t in ("0.05", "0.2"):
        law = PolyPlace(1 / Fraction(t))
        s = pure_shift(law, 1, Fraction(t)).exact_shift
        assert law.variance >= float(s) ** 2 * float(pure_variance(Fraction(1), Fraction(t)).mid())
        for far in ("0.5", "3", "40"):
            log_bound = log_tail_lower_bound(PureDP(1), shift=s, smoothing=t, beyond=far)
            assert log_bound <= math.log(2) + law.log_survival(float(far))
