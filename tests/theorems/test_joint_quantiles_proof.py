"""Attacks on docs/proofs/joint-quantiles.md, joint noise: losses by brute force, exact laws.

Random tests have fixed seeds and a false-alarm rate of 1e-6 each; a wrong law is rejected by the
same test.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest
from scipy import optimize, special, stats

import smoothdp as sd
from smoothdp.exact.random.entropy import SeededRandom
from smoothdp.exact.random.lazy_vector import Place, RoundedVectors
from smoothdp.mechanisms.quantiles.joint.poly_place_quantiles import JointPolyPlaceQuantiles
from smoothdp.mechanisms.release.grid import OutputGrid
from smoothdp.noise import JointPolyPlace
from smoothdp.queries import Quantile
from smoothdp.testing import frequency_test

LEVEL = 1e-6
Log = Callable[[float], float]


def profile(m: int, a: float, tail: float | None = None) -> Log:
    """ln g, written anew; ``tail`` replaces the exponent a - m + 2 beyond the kink."""
    rest = a - m
    power = rest + 2 if tail is None else tail
    # The kink is where both slopes agree.
    kink = (power - rest) / (power + rest)

    def log_g(x: float) -> float:
        if x <= kink:
            return rest * math.log1p(-x)
        return rest * math.log1p(-kink) + power * (math.log1p(kink) - math.log1p(x))

    return log_g


def own_profile(epsilon: float, smoothings: Sequence[float]) -> Log:
    """ln g with smoothings of their own: the least of all bounds on its slope, integrated."""
    left, each = epsilon - sum(smoothings), set(smoothings)
    r = np.concatenate([np.linspace(0, 20 / left, 20_001), np.geomspace(20 / left, 1e14, 20_001)])
    h = np.full(len(r), np.inf)
    for t in each:
        h = np.minimum(h, (left + 2 * t) / (1 + t * r))
        inside = t * r < 1
        h[inside] = np.minimum(h[inside], left / (1 - t * r[inside]))
    # In ln(1 + r), of which ln g is a line far away.
    v, slope = np.log1p(r), h * (1 + r)
    log_g = -np.concatenate([[0.0], np.cumsum((slope[1:] + slope[:-1]) / 2 * np.diff(v))])
    power = float((log_g[-1] - log_g[-2]) / (v[-1] - v[-2]))

    def at(x: float) -> float:
        place = math.log1p(x)
        return float(np.interp(place, v, log_g)) + power * max(0.0, place - float(v[-1]))

    return at


def norm(z: np.ndarray[Any, Any]) -> float:
    return max(float(z.max()), 0.0) + max(float(-z.min()), 0.0)


def loss(log_g: Log, t: Any, y: Any, f: Any, log_s: Any, moved: Any, log_moved: Any) -> float:
    """ln of the density at (f, S) over the one at (f', S')."""
    here = log_g(t * norm((y - f) / np.exp(log_s))) - log_s.sum()
    there = log_g(t * norm((y - moved) / np.exp(log_moved))) - log_moved.sum()
    return float(here - there)


def largest_loss(
    m: int, epsilon: float, t: float, *, tail: float | None = None, signs: Any = None, starts: int
) -> float:
    """Maximise the loss within the premises, from random starts and by hill climbing."""
    log_g = profile(m, epsilon / t, tail)
    return climb(lambda r: log_g(t * r), np.full(m, t), signs=signs, starts=starts)


def climb(log_g: Log, t: Any, *, signs: Any = None, starts: int) -> float:
    """The same for ln g as a function of r, and a smoothing for each number."""
    m = len(t)
    rng = np.random.default_rng(m)
    direction = np.ones(m) if signs is None else np.asarray(signs)

    def negative(point: Any) -> float:
        log_moved = t * np.tanh(point[m : 2 * m])
        # A sine in [0, 1] gives |f - f'| <= min(S, S'), all of one direction.
        share = np.sin(point[2 * m : 3 * m]) ** 2
        moved = direction * share * np.exp(np.minimum(0.0, log_moved))
        y = np.sinh(np.clip(point[:m], -600, 600))
        zero = np.zeros(m)
        return -abs(loss(log_g, 1.0, y, zero, zero, moved, log_moved))

    best = 0.0
    for _ in range(starts):
        start = np.concatenate(
            [rng.normal(size=m) * rng.choice([0.3, 2, 5]), rng.normal(size=2 * m) * 3]
        )
        found = optimize.minimize(
            negative, start, method="Nelder-Mead", options={"maxfev": 250 * m, "fatol": 1e-12}
        )
        best = max(best, -float(found.fun))
    return best


# ---- 1 and 2: joint PolyPlace is private ---------------------------------------------------------


def small_databases(n: int) -> Iterator[tuple[list[int], list[int]]]:
    """All pairs of databases over four values that differ in one record, the first not above."""
    for base in itertools.combinations_with_replacement((0, 1, 2, 5), n - 1):
        for low, high in itertools.combinations((0, 1, 2, 5), 2):
            yield [*base, low], [*base, high]


def test_windows_move_together() -> None:
    t = Fraction(1, 4)
    windows = [
        Quantile(q, bounds=(0, 5), window=w) for q, w in (("1/4", 1), ("1/2", 3), ("3/4", 1))
    ]
    seen = 0
    for x, y in small_databases(5):
        for query in windows:
            log_s, log_s_y = (query.log_smooth_sensitivity(d, smoothing=t) for d in (x, y))
            moved = query.value(y) - query.value(x)
            assert moved >= 0
            assert moved <= math.exp(min(log_s, log_s_y)) * (1 + 1e-12)
            assert abs(log_s - log_s_y) <= float(t) + 1e-12
            seen += moved > 0
    assert seen > 50


@pytest.mark.parametrize(("m", "t"), [(1, 0.2), (2, 0.1), (3, 0.05), (5, 0.05)])
def test_losses_stay_below_epsilon(m: int, t: float) -> None:
    found = largest_loss(m, 1.0, t, starts=6)
    assert 0.9 < found <= 1 + 1e-9


@pytest.mark.parametrize("t", [(0.02, 0.2), (0.1, 0.01, 0.04), (0.05, 0.01, 0.01, 0.05)])
def test_losses_of_levels_with_smoothings_of_their_own(t: tuple[float, ...]) -> None:
    found = climb(own_profile(1.0, t), np.array(t), starts=6)
    assert 0.9 < found <= 1 + 1e-6
    # The law for their mean would lose more.
    mean = (sum(t) / len(t),) * len(t)
    log_moved = np.where(np.array(t) == max(t), 1, -1) * np.array(t)
    zero, y = np.zeros(len(t)), np.where(np.array(t) == max(t), 1e12, 0.0)
    y[np.argmax(t) + 1 :] = 0.0
    log_moved[np.argmax(t) + 1 :] = -np.array(t)[np.argmax(t) + 1 :]
    of_mean = abs(loss(own_profile(1.0, mean), 1.0, y, zero, zero, zero, log_moved))
    assert of_mean > 1.1
    own = abs(loss(own_profile(1.0, t), 1.0, y, zero, zero, zero, log_moved))
    assert own == pytest.approx(1, abs=1e-3)


@pytest.mark.parametrize("smoothings", [("1/10", "1/10"), ("1/5", "1/20")])
def test_losses_on_small_databases(smoothings: tuple[str, str]) -> None:
    """Real windows at all neighbours of a small universe, outputs on a grid and far away."""
    each, m = [Fraction(t) for t in smoothings], 2
    JointPolyPlace(m).calibrate(sd.PureDP(1), smoothing=each)
    log_g = own_profile(1.0, [float(t) for t in each])
    queries = [Quantile(q, bounds=(0, 5), window=1) for q in ("1/3", "2/3")]
    worst, outputs = 0.0, [-1e9, -30.0, -1.0, 0.0, 1.0, 2.5, 5.0, 40.0, 1e9]
    for x, y in small_databases(4):
        sides = []
        for data in (x, y):
            f = np.array([query.value(data) for query in queries])
            logs = [
                query.log_smooth_sensitivity(data, smoothing=t)
                for query, t in zip(queries, each, strict=True)
            ]
            sides += [f, np.array(logs)]
        for point in itertools.product(outputs, repeat=m):
            value = abs(loss(log_g, 1.0, np.array(point), *sides))
            worst = max(worst, value)
    assert 0.5 < worst <= 1 + 1e-6


def test_mixed_signs_and_other_tails_lose_more() -> None:
    # The points of the page.
    log_g = profile(2, 100.0)
    assert log_g(0.0) - log_g(2 / 1000) == pytest.approx(0.19619, abs=1e-4)
    assert largest_loss(2, 0.1, 0.001, signs=(1, -1), starts=2) > 0.19
    for m, t in ((2, 0.1), (3, 0.05), (5, 0.05)):
        other = profile(m, 1 / t, tail=1 / t + m)
        log_moved = np.array([t] + [-t] * (m - 1))
        zero, y = np.zeros(m), np.array([1e12] + [0.0] * (m - 1))
        found = -loss(other, t, y, zero, zero, zero, log_moved)
        assert found == pytest.approx(1 + (2 * m - 2) * t, abs=1e-6)


def test_there_is_no_law_below_2m_minus_2() -> None:
    law = JointPolyPlace(9)
    for shape in ("16", "15", "9.5"):
        with pytest.raises(sd.errors.InvalidParameter, match="above 16"):
            law.calibrate(sd.PureDP(1), smoothing=1 / Fraction(shape))
    assert law.calibrate(sd.PureDP(1), smoothing=1 / Fraction("16.5")).variance == math.inf
    # The mass of the radius up to R grows without end at shape 15, and not at 17.
    masses = {}
    for whole in (15, 17):
        log_g = profile(9, whole)
        grid = np.linspace(math.log(1e-3), math.log(1e10), 20_001)
        terms = [math.exp(9 * v + log_g(math.exp(v))) for v in grid]
        below = np.cumsum(terms)
        masses[whole] = below[-1] / below[int(len(grid) * 0.7)]
    assert masses[15] > 100
    assert masses[17] < 1.01


def test_a_calibration_claims_no_more_than_is_proved() -> None:
    made = JointPolyPlace(3).calibrate(sd.PureDP("ln(3)"), smoothing="0.05")
    assert made.shape * made.smoothing < Fraction("1.0986123")
    joint = type(made)
    for changes in ((made.smoothing * 2, made.shape), (made.smoothing, Fraction(4))):
        with pytest.raises(sd.errors.InvalidParameter):
            joint(made.law, made.guarantee, *changes)
    t = made.smoothing
    for each in ((t, t), (t / 2,) * 3, (t, t, 2 * t), (t, t, -t), (t, t, 0.01)):
        with pytest.raises(sd.errors.InvalidParameter, match="smoothing"):
            joint(made.law, made.guarantee, t, made.shape, each)  # type: ignore[arg-type]
    # Less smoothing elsewhere leaves more of epsilon: 1 = t sum + b t in each case.
    law, one = JointPolyPlace(3), sd.PureDP(1)
    less = law.calibrate(one, smoothing=["0.1", "0.02", "0.05"])
    assert less.radial.rest == Fraction("8.3")
    assert less.standard_deviation < law.calibrate(one, smoothing="0.1").standard_deviation
    with pytest.raises(sd.errors.InvalidParameter, match="3 of them"):
        law.calibrate(one, smoothing=["0.1", "0.2"])
    # 0.4 + 0.1 + 0.1 leaves b = 1, and more is asked for.
    with pytest.raises(sd.errors.InvalidParameter, match="above 5/2"):
        law.calibrate(one, smoothing=["0.4", "0.1", "0.1"])
    with pytest.raises(sd.errors.IncompatibleClaims):
        JointPolyPlace(3).calibrate(sd.PureDP(1, neighbours="add_remove"), smoothing="0.05")
    with pytest.raises(sd.errors.InvalidParameter):
        JointPolyPlace(3).calibrate(sd.ZCDP(1), smoothing="0.05")


# ---- 3 and 4: moments and sampler ----------------------------------------------------------------


def test_moments_of_the_cone() -> None:
    for m in range(1, 12):
        total, pairs = Fraction(0), list(itertools.permutations(range(m + 1), 2))
        for pair in pairs:
            inside = len({0, 1} & set(pair))
            total += (Fraction(1, 6), Fraction(1, 3), Fraction(1))[inside]
        assert total / len(pairs) == Fraction((m + 2) * (m + 3), 6 * m * (m + 1))


def second_moment(m: int, a: float, t: float) -> float:
    """E Z_j^2 by quadrature in ln r."""
    log_g = profile(m, a)

    def integral(power: int) -> Any:
        cuts = [-60, *np.linspace(-12, 12, 25), 60, 200]
        return mpmath.quad(lambda v: mpmath.exp(power * v + log_g(float(mpmath.exp(v)))), cuts)

    with mpmath.workdps(15):
        share = integral(m + 2) / integral(m)
    return float(share) / t**2 * (m + 2) * (m + 3) / (6 * m * (m + 1))


@pytest.mark.parametrize(
    ("m", "epsilon", "t", "expected"),
    [
        (1, "1", "1/10", 1.6874871625739466),
        (1, "1", "2/5", 4.2807509699764256),
        (3, "1", "1/100", 2.3663601510420015),
        (3, "1", "1/20", 3.0867789172896356),
        (3, "1", "1/10", 5.0019868144483338),
        (5, "2", "1/20", 2.0035854042839387),
        (9, "1", "1/500", 4.8605370760020238),
        (9, "1", "1/50", 7.2168783656731142),
        (19, "3", "1/50", 3.9000226911071226),
    ],
)
def test_reference_deviations(m: int, epsilon: str, t: str, expected: float) -> None:
    made = JointPolyPlace(m).calibrate(sd.PureDP(epsilon), smoothing=t)
    assert made.standard_deviation == pytest.approx(expected, rel=1e-13)
    other = second_moment(m, float(made.shape), float(made.smoothing))
    assert made.standard_deviation == pytest.approx(math.sqrt(other), rel=1e-3)


OWN = (["1/10", "1/100", "1/25"], ["1/20", "1/100", "1/100", "1/50"], ["1/50", "1/5"])


def own_radius(smoothings: Sequence[str]) -> tuple[Any, Any]:
    """Points r, and P(radius <= r), by a sum."""
    log_g = own_profile(1.0, [float(Fraction(t)) for t in smoothings])
    m = len(smoothings)
    v = np.linspace(-6, 25, 60_001)
    mass = np.exp([m * u + log_g(math.exp(u)) for u in v])
    below = np.concatenate([[0.0], np.cumsum((mass[1:] + mass[:-1]) / 2)])
    return np.exp(v), below / below[-1]


@pytest.mark.parametrize("smoothings", OWN[:2])
def test_deviations_with_smoothings_of_their_own(smoothings: list[str]) -> None:
    m = len(smoothings)
    made = JointPolyPlace(m).calibrate(sd.PureDP(1), smoothing=smoothings)
    r, below = own_radius(smoothings)
    middle = (r[1:] * r[:-1]) @ np.diff(below)
    expected = math.sqrt(middle * (m + 2) * (m + 3) / (6 * m * (m + 1)))
    assert made.standard_deviation == pytest.approx(expected, rel=1e-4)


def test_one_number_is_poly_place() -> None:
    made = JointPolyPlace(1).calibrate(sd.PureDP(1), smoothing="0.1")
    assert made.variance == pytest.approx(sd.noise.PolyPlace(10).variance * 100, rel=1e-13)


SCALE = 10**9


def joint_draws(m: int, t: str | list[str], count: int, seed: int) -> Any:
    """X theta, in units of 1e-9."""
    made = JointPolyPlace(m).calibrate(sd.PureDP(1), smoothing=t)
    draws = RoundedVectors(
        made.lazy(),
        [Place(Fraction(0), Fraction(SCALE), Fraction(0))] * m,
        lowest=-(10**30),
        highest=10**30,
    )
    rng = SeededRandom(seed)
    return np.array([draws.draw(rng) for _ in range(count)], dtype=float) / SCALE


def radius_cdf(m: int, a: float, x: Any) -> Any:
    """P(t r <= x), with the incomplete beta functions of scipy."""
    rest = a - m
    kink = 1 / (rest + 1)
    inner = special.beta(m, rest + 1) * special.betainc(m, rest + 1, np.minimum(x, kink))
    factor = (1 - kink) ** rest * (1 + kink) ** (rest + 2)
    # As a function of v = x / (1 + x).
    shape = m, rest + 2 - m
    at = special.betainc(*shape, np.maximum(x, kink) / (1 + np.maximum(x, kink)))
    outer = special.beta(*shape) * (at - special.betainc(*shape, kink / (1 + kink)))
    whole = special.beta(m, rest + 1) * special.betainc(m, rest + 1, kink)
    whole += factor * special.beta(*shape) * (1 - special.betainc(*shape, kink / (1 + kink)))
    return (inner + factor * outer) / whole


@pytest.mark.parametrize(("m", "t"), [(1, "5/6"), (3, "1/5"), (9, "1/50")])
def test_the_radius_is_drawn_exactly(m: int, t: str) -> None:
    z = joint_draws(m, t, 4000, seed=m)
    radius = np.maximum(z.max(axis=1), 0) + np.maximum(-z.min(axis=1), 0)
    shape = 1 / float(Fraction(t))
    assert stats.kstest(radius, lambda x: radius_cdf(m, shape, x)).pvalue > LEVEL
    # A shape that is wrong by a sixth.
    wrong = stats.kstest(radius, lambda x: radius_cdf(m, shape * 7 / 6, x))
    assert wrong.pvalue < LEVEL


@pytest.mark.parametrize("smoothings", OWN)
def test_the_radius_of_three_powers_is_drawn_exactly(smoothings: list[str]) -> None:
    z = joint_draws(len(smoothings), smoothings, 3000, seed=len(smoothings))
    radius = np.maximum(z.max(axis=1), 0) + np.maximum(-z.min(axis=1), 0)
    radius /= max(float(Fraction(t)) for t in smoothings)
    assert stats.kstest(radius, lambda x: np.interp(x, *own_radius(smoothings))).pvalue > LEVEL
    common = [max(smoothings, key=Fraction)] * len(smoothings)
    if len(common) > 2:
        # With the largest smoothing everywhere: another law.
        assert stats.kstest(radius, lambda x: np.interp(x, *own_radius(common))).pvalue < LEVEL


def test_the_direction_is_drawn_exactly() -> None:
    """Signs: the number of positive coordinates is uniform; sizes, by the note's own sampler."""
    m, count = 4, 6000
    z = joint_draws(m, "1/20", count, seed=5)
    radius = np.maximum(z.max(axis=1), 0) + np.maximum(-z.min(axis=1), 0)
    theta = z / radius[:, None]
    positive = (theta > 0).sum(axis=1)
    law = np.full(m + 1, 1 / (m + 1))
    assert frequency_test(np.bincount(positive, minlength=m + 1), law) > LEVEL
    binomial = stats.binom.pmf(range(m + 1), m, 0.5)
    assert frequency_test(np.bincount(positive, minlength=m + 1), binomial) < LEVEL
    # Given k positive of m, the largest is Beta(k, m - k).
    for k in (1, 2, 3):
        largest = theta[positive == k].max(axis=1)
        assert stats.kstest(largest, stats.beta(k, m - k).cdf).pvalue > LEVEL
        assert stats.kstest(largest, stats.beta(k + 1, m - k).cdf).pvalue < LEVEL
    # The radius does not depend on the direction.
    parts = [radius[positive == k] for k in (0, 2)]
    assert stats.ks_2samp(*parts).pvalue > LEVEL


def test_released_values_follow_the_law() -> None:
    """End to end for one level: y_j is f + (S / t) X theta, rounded and clamped."""
    data = [float(i) for i in range(101)]
    queries = tuple(Quantile(q, bounds=(0, 100), window=5) for q in ("1/4", "3/4"))
    made = JointPolyPlace(2).calibrate(sd.PureDP(2), smoothing="1/5")
    grid = OutputGrid(Fraction(1, 4), queries[0].bounds)
    mechanism = JointPolyPlaceQuantiles(queries, made, 101, grid)
    rng = SeededRandom(3)
    count = 1500
    low = np.array([mechanism.release(data, rng=rng)[0] for _ in range(count)])
    # A simulation in floats of the same law, with many more draws.
    z = joint_draws_in_floats(2, 10.0, 400_000)
    s = [query.smooth_sensitivity(data, smoothing="1/5") * 5 for query in queries]
    y = np.clip(np.round((np.array([25.0, 75.0]) + z * s) * 4) / 4, 0, 100).min(axis=1)
    cells = np.array([-1, 15, 20, 22, 24, 24.9, 26, 28, 31, 40, 101])
    law = np.histogram(y, cells)[0] / len(y)
    # The law is known to 3e-3 relative at worst here: far below what 1500 draws can tell.
    assert frequency_test(np.histogram(low, cells)[0], law) > LEVEL
    other = np.histogram(np.clip(25 + (y - 25) * 1.3, 0, 100), cells)[0] / len(y)
    assert frequency_test(np.histogram(low, cells)[0], other) < LEVEL


def joint_draws_in_floats(m: int, a: float, count: int) -> Any:
    """X theta, by inverting the radius and by subsets: shares no code with the library."""
    rng = np.random.default_rng(1)
    grid = np.concatenate([np.linspace(0, 3, 30_001), np.geomspace(3, 1e6, 2001)[1:]])
    radius = np.interp(rng.random(count), radius_cdf(m, a, grid), grid)
    k = rng.integers(0, m + 1, count)[:, None]
    order = np.argsort(rng.random((count, m)), axis=1)
    share = rng.beta(np.maximum(k, 0.5), np.maximum(m - k, 0.5))
    share = np.where(k == m, 1.0, np.where(k == 0, 0.0, share))
    size = rng.random((count, m))
    size = np.where((order == 0) & (k > 0) | (order == m - 1) & (k < m), 1.0, size)
    z = np.where(order < k, size * share, -size * (1 - share))
    return z * radius[:, None]
