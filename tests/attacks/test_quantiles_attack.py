"""Attacks on released quantiles: laws from the documents alone, tiny data, edited promises.

Nothing here calls the library for a value, a sensitivity or a density that it compares with. The
tests with random numbers have fixed seeds; each alarms falsely with probability 1e-6 or less.
"""

from __future__ import annotations

import copy
import itertools
import math
import pickle
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest
from scipy import stats

import smoothdp as sd
from smoothdp.errors import InvalidParameter
from smoothdp.mechanisms import HalfShift
from smoothdp.noise import MaxLaw
from smoothdp.queries.private_size.padded_window import PaddedWindow
from smoothdp.types import FloatArray

FALSE_ALARM = 1e-6
FAR = [-(2**62) + 2**32, 2**62 - 2**32, 0, 2**60, 2**60 + 2**32, -5 * 2**32]
WIDE = [(-(2**62), 2**62), (-(2**63), 2**63), (0, 2**63), (-(2**70), 2**70)]


# ---- whole numbers next to the end of 64 bits ---------------------------------------------------


def _median_of_half_ranks(bounds: tuple[Any, Any], data: Any) -> tuple[float, float]:
    query = sd.queries.Median(bounds, window=1)
    found = query.log_half_shift_sensitivity(data, half_shift=1, smoothing="0.01", reach=40)
    return query.half_shift_value(data, half_shift=1), found


def _padded(bounds: tuple[Any, Any], data: Any) -> tuple[float, float]:
    query = PaddedWindow("1/2", bounds=bounds, width="5/2")
    return query.value(data), query.log_smooth_sensitivity(data, smoothing="0.01")


def _window(bounds: tuple[Any, Any], data: Any) -> tuple[float, float]:
    query = sd.queries.Quantile("0.9", bounds=bounds, window=1)
    return query.value(data), query.log_smooth_sensitivity(data, smoothing="0.01")


@pytest.mark.parametrize("look", [_median_of_half_ranks, _padded, _window])
@pytest.mark.parametrize("bounds", WIDE)
def test_whole_numbers_have_the_sensitivity_of_floats(
    look: Callable[[tuple[Any, Any], Any], tuple[float, float]], bounds: tuple[int, int]
) -> None:
    """2^62 less -2^62 is -2^63 in 64 bits with a sign: ln of it is no number, S was too small."""
    scaled = Fraction(bounds[0], 2**32), Fraction(bounds[1], 2**32)
    for n in (1, 2, 3):
        for rows in itertools.combinations_with_replacement(FAR, n):
            whole = np.array(rows, dtype=np.int64)
            value, log_s = look(bounds, whole)
            expected, log_expected = look(scaled, whole / 2**32)
            assert abs(log_s - 32 * math.log(2) - log_expected) < 1e-9, rows
            assert abs(value / 2**32 - expected) <= 1e-12 * abs(expected)


# ---- the max law ------------------------------------------------------------------------------


def _h(x: FloatArray, a: float) -> FloatArray:
    """Return H at r t = x."""
    inside = -(a - 1) * np.log1p(-np.minimum(x, 1 / a))
    outside = (a + 1) * np.log((1 + x) / (1 + 1 / a)) - (a - 1) * math.log1p(-1 / a)
    return np.where(x <= 1 / a, inside, outside)


def _log_density(
    y: FloatArray, w: FloatArray, f: float, s: float, a: float, t: float, d: float
) -> FloatArray:
    size = np.abs(y - f) * math.exp(-s)
    return -s - np.maximum(_h(size * t, a) + d, (a - 1) * np.abs(w - s))


def _windowed(
    rows: Sequence[float], bounds: tuple[float, float], w: int, t: float
) -> tuple[float, float]:
    """Return the mean of the middle w values (w + 1 if n is even) and S by its definition."""
    n, x = len(rows), sorted(rows)
    w += n % 2 == 0
    first = (n - w) // 2 + 1
    last = first + w - 1
    f = sum(x[first - 1 : last]) / w
    if (first, last) == (1, n):
        return f, (bounds[1] - bounds[0]) / n

    def at(rank: int) -> float:
        return bounds[0] if rank < 1 else bounds[1] if rank > n else x[rank - 1]

    reach = range(n + 2)
    steps = [(p, q) for p in reach for q in reach if p + q >= 1]
    return f, max(math.exp(-t * (p + q - 1)) * (at(last + q) - at(first - p)) / w for p, q in steps)


def _worst_loss(epsilon: float, t: float, n: int, w: int, shape: float, d: float = 1) -> float:
    rows = (0.0, 0.25, 1.0)
    y = np.concatenate([np.linspace(-3, 4, 141), [-1e3, 1e3, -1e6, 1e6]])
    grid = np.meshgrid(y, np.linspace(-6, 4, 41))
    logs = {}
    for x in itertools.combinations_with_replacement(rows, n):
        f, s = _windowed(x, (0.0, 1.0), w, t)
        logs[x] = _log_density(grid[0], grid[1], f, math.log(s), shape, t, d)
    return max(
        float(np.abs(logs[x] - logs[tuple(sorted((*x[:i], v, *x[i + 1 :])))]).max()) / epsilon
        for x in logs
        for i in range(n)
        for v in rows
    )


@pytest.mark.parametrize(("epsilon", "t"), [(1, 0.2), (1, 0.05), (5, 1), (0.3, 0.05)])
@pytest.mark.parametrize(("n", "w"), [(1, 1), (2, 1), (3, 1), (3, 3), (4, 1), (5, 3)])
def test_the_max_law_on_all_tiny_databases(epsilon: float, t: float, n: int, w: int) -> None:
    assert _worst_loss(epsilon, t, n, w, epsilon / t) <= 1 + 1e-9


@pytest.mark.parametrize("d", [0, 0.15, 1.8, 4])
@pytest.mark.parametrize(("epsilon", "t"), [(1, 0.2), (16, 1)])
def test_the_max_law_with_any_offset_on_tiny_databases(epsilon: float, t: float, d: float) -> None:
    """Releases take one by their epsilon / t, from 0 to 4."""
    for n, w in ((1, 1), (3, 1), (3, 3)):
        assert _worst_loss(epsilon, t, n, w, epsilon / t, d) <= 1 + 1e-9


def test_another_shape_of_the_max_law_loses_more() -> None:
    assert _worst_loss(1, 0.2, 3, 1, 1.3 / 0.2) > 1.05


ROWS = [-300.0, -100.0, -20.0, 1.0, 5.0, 80.0, 400.0, 500.0, 650.0]
FRAME = (-1000.0, 1000.0)


def _pairs(count: int) -> tuple[FloatArray, FloatArray]:
    """Return y and ln of the half-width of so many releases, from what is published alone."""
    values, halves = [], []
    for seed in range(count):
        released: Any = sd.release(
            ROWS,
            sd.queries.Median(FRAME, window=3),
            guarantee=sd.PureDP(16),
            smoothing=1,
            confidence="0.5",
            rng=sd.SeededRandom(seed),
        )
        low, high = released.interval
        values.append(released.value)
        halves.append(
            max(
                released.value - low if low > FRAME[0] else 0,
                high - released.value if high < FRAME[1] else 0,
            )
        )
    return np.array(values), np.log(halves)


def _check_pairs(count: int) -> None:
    values, halves = _pairs(count)
    (f, s), a = _windowed(ROWS, FRAME, 3, 1.0), 16.0
    z = np.abs(values - f) / s
    points = np.linspace(0, 400, 1_000_001)
    # The offset of a release is .15 epsilon / t - .6.
    d = 0.15 * 16 - 0.6

    def uniform(shape: float) -> FloatArray:
        u = _h(points, shape) + d
        density = np.exp(-u) * (1 + u)
        mass = np.concatenate([[0], np.cumsum(density[1:] + density[:-1])])
        return np.asarray(np.interp(z, points, mass / mass[-1]))

    assert stats.kstest(uniform(a), "uniform").pvalue > FALSE_ALARM / 3
    assert stats.kstest(uniform(a - 5), "uniform").pvalue < FALSE_ALARM
    assert stats.binomtest(int((values > f).sum()), count).pvalue > FALSE_ALARM / 3
    # B is symmetric: its median tells ln F, which is fitted, so that the test is conservative.
    b = halves - math.log(s)
    b -= np.median(b)
    u = _h(z, a) + d
    size = np.abs(b) * (a - 1)
    tail = np.where(
        size <= u, 0.5 - size / (2 * (1 + u)), np.exp(np.minimum(u - size, 0)) / (2 * (1 + u))
    )
    given = np.where(b < 0, tail, 1 - tail)
    assert stats.kstest(given, "uniform").pvalue > FALSE_ALARM / 3
    assert stats.kstest(stats.laplace(scale=1 / a).cdf(b), "uniform").pvalue < FALSE_ALARM


def test_value_and_width_follow_the_joint_density() -> None:
    _check_pairs(800)


@pytest.mark.slow
def test_value_and_width_follow_the_joint_density_of_many() -> None:
    _check_pairs(20_000)


# ---- the half shift -----------------------------------------------------------------------------


def _doubled(
    rows: Sequence[float], bounds: tuple[float, float], first: int, cells: int, t: float, reach: int
) -> tuple[float, float]:
    x, n = sorted(rows), len(rows)

    def at(i: int) -> float:
        return bounds[0] if i <= 0 else bounds[1] if i > 2 * n else x[(i + 1) // 2 - 1]

    last = first + cells - 1
    s = math.exp(-t * reach) * (bounds[1] - bounds[0])
    for k in range(min(reach, 2 * n + abs(first) + cells + 3) + 1):
        gap = max(at(last + 1 + k) - at(first - k), at(last + k) - at(first - 1 - k))
        s = max(s, math.exp(-t * k) * gap)
    return sum(at(i) for i in range(first, last + 1)) / cells, s / cells


def _mixture(
    made: HalfShift,
    rows: Sequence[float],
    bounds: tuple[float, float],
) -> list[tuple[float, float, float]]:
    """Return (probability of h, f, S / s) of a release of one value."""
    variance, (part,) = float(made.shift_variance), made.parts
    window = part.window
    reach = int(12 * math.sqrt(variance)) + 3
    weights = {h: math.exp(-h * h / (2 * variance)) for h in range(-reach, reach + 1)}
    total = sum(weights.values())
    found = []
    for h, weight in weights.items():
        f, s = _doubled(
            rows,
            bounds,
            window.centre - window.width + h,
            2 * window.width,
            float(window.smoothing),
            window.reach,
        )
        found.append((weight / total, f, s / part.calibration.shift))
    return found


def _arsinh(z: FloatArray, sigma: float) -> FloatArray:
    return np.arcsinh(z * sigma) / sigma


def _sigma(made: HalfShift) -> float:
    return float(made.parts[0].calibration.law.values()["sigma"])


def test_one_value_behind_a_half_shift_follows_its_mixture() -> None:
    made = HalfShift.calibrate(sd.queries.Median(FRAME), guarantee=sd.ZCDP(2), n_records=len(ROWS))
    y = np.array([made.release(ROWS, rng=sd.SeededRandom(seed)).value for seed in range(1200)])
    parts, sigma = _mixture(made, ROWS, FRAME), _sigma(made)
    mixed = sum(p * stats.norm.cdf(_arsinh((y - f) / s, sigma)) for p, f, s in parts)
    assert stats.kstest(mixed, "uniform").pvalue > FALSE_ALARM
    # Without the shift the law is another one.
    _, f, s = max(parts)
    still = stats.norm.cdf(_arsinh((y - f) / s, sigma))
    assert stats.kstest(still, "uniform").pvalue < FALSE_ALARM


def _densities(made: HalfShift, n: int) -> tuple[dict[tuple[float, ...], FloatArray], FloatArray]:
    near = np.sinh(np.linspace(-60, 60, 4001) / 3) * 0.02
    y = np.unique(np.concatenate([c + near for c in (0.0, 0.15, 0.3, 0.5, 0.65, 1.0)]))
    sigma, found = _sigma(made), {}
    for x in itertools.combinations_with_replacement((0.0, 0.3, 1.0), n):
        density = np.zeros_like(y)
        for p, f, s in _mixture(made, x, (0.0, 1.0)):
            z = (y - f) / s
            density += p / s * stats.norm.pdf(_arsinh(z, sigma)) / np.sqrt(1 + (z * sigma) ** 2)
        found[x] = density
    return found, np.gradient(y)


@pytest.mark.parametrize(("rho", "n"), [("2", 1), ("2", 2), ("0.1", 2)])
def test_renyi_divergences_of_a_half_shift(rho: str, n: int) -> None:
    """All neighbours on three values; the quadrature's masses are 1 within 1e-4."""
    query = sd.queries.Median((0, 1))
    made = HalfShift.calibrate(query, guarantee=sd.ZCDP(rho), n_records=n)
    densities, cells = _densities(made, n)
    worst = 0.0
    for x, i, v in itertools.product(densities, range(n), (0.0, 0.3, 1.0)):
        p, q = densities[x], densities[tuple(sorted((*x[:i], v, *x[i + 1 :])))]
        assert abs(float(p @ cells) - 1) < 1e-4
        kept = (p > 1e-290) & (q > 1e-290)
        for order in (1.2, 2.0, 5.0):
            powers = np.exp(order * np.log(p[kept]) - (order - 1) * np.log(q[kept]))
            divergence = math.log(float(powers @ cells[kept])) / (order - 1)
            worst = max(worst, divergence / (order * float(rho)))
    assert 0.2 < worst <= 1
    # The claim is used: a third of rho would be refused.
    assert worst > 1 / 3 or rho != "2"


# ---- what intervals cover -----------------------------------------------------------------------


def _quantiles(rows: Sequence[float], q: Fraction, bounds: tuple[float, float]) -> set[float]:
    x = sorted(min(max(v, bounds[0]), bounds[1]) for v in rows)
    if not x:
        return {*bounds}
    place = q * len(x)
    return {x[math.ceil(place) - 1], x[math.floor(place)]}


CASES: list[tuple[Any, str, list[float], tuple[float, float], dict[str, Any]]] = [
    (sd.PureDP(8), "1/2", [0.0] * 51 + [1.0] * 50, (0.0, 1.0), {}),
    (sd.PureDP(8), "1/2", [0.0] * 50 + [1.0] * 50, (0.0, 1.0), {}),
    (sd.PureDP(60), "1/3", [3.5], (-3.0, 10.0), {}),
    (sd.ApproxDP(8, delta="1e-3"), "1/4", [0.0] * 100 + [4e307] * 300, (0.0, 4e307), {}),
    (sd.ZCDP("1/2"), "1/2", [0.0] * 15 + [1.0] * 16, (0.0, 1.0), {}),
    (sd.TruncatedCDP("1/2", omega=10), "0.9", [5.0] * 90 + [5.000001] * 10, (0.0, 10.0), {}),
    (sd.GaussianDP(1), "0.07", [0.0] * 7 + [1.0] * 93, (0.0, 1.0), {"round_to": "0.5"}),
    (sd.PureDP(8, neighbours="add_remove"), "1/2", [0.0] * 30 + [1.0] * 30, (0.0, 1.0), {}),
    (sd.PureDP(8, neighbours="add_remove"), "1/2", [], (0.0, 1.0), {"n_guess": 100}),
    (
        sd.GaussianDP(6, neighbours="add_remove"),
        "0.9",
        [0.0] * 9 + [1.0],
        (0.0, 1.0),
        {"n_guess": 1000},
    ),
]


def _covered(case: int, count: int, seed: int) -> int:
    guarantee, level, rows, bounds, asked = CASES[case]
    q = Fraction(level)
    targets = _quantiles(rows, q, bounds)
    hits = dict.fromkeys(targets, 0)
    for place in range(count):
        released: Any = sd.release(
            rows,
            sd.queries.Quantile(q, bounds=bounds),
            guarantee=guarantee,
            confidence="0.6",
            rng=sd.SeededRandom(seed + place),
            **asked,
        )
        low, high = released.interval
        for target in targets:
            hits[target] += low <= target <= high
    return min(hits.values())


def _check_coverage(case: int, count: int, seed: int) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sd.errors.PrivacyWarning)
        hits = _covered(case, count, seed)
    assert stats.binom.cdf(hits, count, 0.6) > FALSE_ALARM / len(CASES)
    # As few as 3 in 10 would be noticed.
    assert stats.binom.cdf(round(0.3 * count), count, 0.6) < FALSE_ALARM / len(CASES)


@pytest.mark.parametrize("case", range(len(CASES)))
def test_plain_quantiles_are_covered(case: int) -> None:
    _check_coverage(case, 150, 10_000)


@pytest.mark.slow
@pytest.mark.parametrize("case", range(len(CASES)))
def test_plain_quantiles_are_covered_in_many_releases(case: int) -> None:
    _check_coverage(case, 10_000, 50_000)


# ---- what leaves besides numbers ----------------------------------------------------------------


ODD: list[Any] = [2.5, None, math.nan, math.inf, 10**400, 2**63, True, "abc", b"x", [1], 1j]


@pytest.mark.parametrize("guarantee", [sd.PureDP, sd.GaussianDP])
def test_no_row_changes_words_or_warnings(guarantee: type[Any]) -> None:
    """Where n is private: mechanism, words, sources and warnings are those of no rows at all."""

    def left(rows: list[Any]) -> tuple[object, ...]:
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            made: Any = sd.release(
                rows,
                sd.queries.Median((0, 10)),
                guarantee=guarantee(8, neighbours="add_remove"),
                n_guess=20,
                confidence="0.9",
                rng=sd.SeededRandom(3),
            )
        words = tuple(str(one.message) for one in warned)
        return made.mechanism, made.covers, made.sources, type(made.value), words

    nothing = left([])
    assert all(left([*rows, odd]) == nothing for odd in ODD for rows in ([], [1, 2] * 5))


# ---- ledgers: adaptive adversaries --------------------------------------------------------------


def _power(costs: dict[float, float], budget: float, epsilon: float, rounds: int) -> float:
    """Return the largest delta at epsilon of adaptive randomised responses within a budget."""

    @cache
    def best(rest: float, loss: float, left: int) -> float:
        found = max(0.0, 1 - math.exp(epsilon - loss))
        if left == 0:
            return found
        for size, cost in costs.items():
            if cost <= rest + 1e-12:
                p = math.exp(size) / (1 + math.exp(size))
                after = round(rest - cost, 9)
                true, false = round(loss + size, 9), round(loss - size, 9)
                found = max(
                    found, p * best(after, true, left - 1) + (1 - p) * best(after, false, left - 1)
                )
        return found

    return best(round(budget, 9), 0.0, rounds)


@pytest.mark.parametrize("epsilon", [0.0, 0.5, 1.0, 2.0])
def test_adaptive_answers_within_mu_squared(epsilon: float) -> None:
    def delta(mu: float) -> float:
        tail = math.exp(epsilon) * stats.norm.cdf(-mu / 2 - epsilon / mu)
        return float(stats.norm.cdf(mu / 2 - epsilon / mu) - tail)

    def mu_of(size: float) -> float:
        return 2 * float(stats.norm.ppf(math.exp(size) / (1 + math.exp(size))))

    sizes = (0.2, 0.5, 0.8, 1.2, 1.6)
    assert _power({x: mu_of(x) ** 2 for x in sizes}, 4.0, epsilon, 10) <= delta(2.0)
    # At half of the cost they would exceed the budget.
    assert _power({x: mu_of(x) ** 2 / 2 for x in sizes}, 4.0, epsilon, 10) > delta(2.0)


@pytest.mark.parametrize("size", ["0.5", "1", "2"])
def test_ledgers_charge_pure_claims_their_least_price(size: str, tmp_path: Any) -> None:
    """As many as eps tanh(eps / 2), or the square of mu, allow, and no more."""
    e = float(size)
    mu = 2 * float(stats.norm.ppf(math.exp(e) / (1 + math.exp(e))))
    budgets = [(sd.ZCDP(2), 2 / (e * math.tanh(e / 2))), (sd.GaussianDP(3), 9 / mu**2)]
    for place, (budget, room) in enumerate(budgets):
        ledger = sd.Ledger(tmp_path / f"{place}.db", budget=budget)
        for _ in range(math.floor(room)):
            ledger.spend(sd.PureDP(size))
        with pytest.raises(sd.errors.BudgetExceeded):
            ledger.spend(sd.PureDP(size))


# ---- edited promises ----------------------------------------------------------------------------


def _edited(value: Any, **changes: Any) -> Any:
    """Return what a pickle of an edited copy is read as."""
    other = copy.copy(value)
    for name, new in changes.items():
        object.__setattr__(other, name, new)
    return pickle.loads(pickle.dumps(other))


def test_edited_max_law() -> None:
    made = MaxLaw().calibrate(sd.PureDP(2), smoothing="0.09")
    assert _edited(made) == made
    for changes in ({"shape": Fraction(100)}, {"guarantee": sd.PureDP(1)}, {"shape": Fraction(1)}):
        with pytest.raises(InvalidParameter):
            _edited(made, **changes)
    with pytest.raises(InvalidParameter):
        _edited(made, law=_edited(MaxLaw(), offset=Fraction(-1)))


def test_edited_half_shift() -> None:
    made = HalfShift.calibrate(sd.queries.Median((0, 9)), guarantee=sd.ZCDP(1), n_records=9)
    (part,) = made.parts
    assert _edited(made) == made
    windows: list[dict[str, Any]]
    windows = [{"width": 0}, {"width": -3}, {"reach": -1}, {"centre": 0.5}, {"smoothing": 0}]
    for changes in windows:
        with pytest.raises(InvalidParameter):
            replace(part.window, **changes)
        with pytest.raises(InvalidParameter):
            _edited(part.window, **changes)
    with pytest.raises(InvalidParameter):
        _edited(made, guarantee=sd.ZCDP("1/2"))
    with pytest.raises(InvalidParameter):
        _edited(made, shift_variance=made.shift_variance / 2)
