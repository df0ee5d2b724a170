"""Each statement of docs/proofs/half-shift.md, by routes of their own."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations_with_replacement
from typing import Any

import numpy as np
import pytest

import smoothdp as sd
from smoothdp.mechanisms.quantiles.half_shift.budget import split
from smoothdp.mechanisms.quantiles.half_shift.coverage import Target, excesses, factor
from smoothdp.mechanisms.quantiles.half_shift.rules import calibrated
from smoothdp.noise.law import NoiseDistribution
from smoothdp.queries.many.half_shift import HalfShiftColumn, HalfShiftWindow

F = Fraction
LN2 = math.log(2)


class Naive:
    """A window by the definition, with e^t = 2, so that all is rational."""

    def __init__(self, data: Sequence[int], ends: tuple[int, int], cells: int, reach: int) -> None:
        self.x = sorted(min(max(v, ends[0]), ends[1]) for v in data)
        self.ends, self.cells, self.reach = ends, cells, reach

    def d(self, i: int) -> int:
        if i < 1:
            return self.ends[0]
        return self.ends[1] if i > 2 * len(self.x) else self.x[(i + 1) // 2 - 1]

    def value(self, start: int) -> Fraction:
        return F(sum(self.d(i) for i in range(start, start + self.cells)), self.cells)

    def local(self, start: int, k: int) -> Fraction:
        stop = start + self.cells
        first = self.d(stop + k) - self.d(start - k)
        return F(max(first, self.d(stop - 1 + k) - self.d(start - 1 - k)), self.cells)

    def floor(self) -> Fraction:
        return F(self.ends[1] - self.ends[0], self.cells * 2**self.reach)

    def smooth(self, start: int, *, floor: bool = True) -> Fraction:
        terms: list[Fraction] = [self.local(start, k) / 2**k for k in range(self.reach + 1)]
        return max([*terms, self.floor()] if floor else terms)


def neighbours(n: int, top: int) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Return sorted databases of values 0..top and what raising one value makes of them."""
    found = []
    for x in combinations_with_replacement(range(top + 1), n):
        for i in range(n):
            for z in range(x[i] + 1, top + 1):
                found.append((x, tuple(sorted((*x[:i], *x[i + 1 :], z)))))
    return found


# ---- 1: a record is a step of half a rank ----------------------------------------------------


def violated(x: Naive, y: Naive, start: int, step: int, *, floor: bool = True) -> bool:
    """Whether the two claims of statement 1 fail, the window of y ``step`` cells before."""
    s, r = (w.smooth(p, floor=floor) for w, p in ((x, start), (y, start - step)))
    distance = abs(x.value(start) - y.value(start - step))
    return distance > min(s, r) or s > 2 * r or r > 2 * s


def test_a_record_is_a_step_of_half_a_rank() -> None:
    seen = 0
    for n, top in ((1, 3), (2, 3), (3, 3), (4, 2)):
        for a, b in neighbours(n, top):
            for cells, reach in ((1, 0), (2, 1), (3, 9), (6, 4)):
                x, y = (Naive(v, (0, top), cells, reach) for v in (a, b))
                for start in range(-3, 2 * n + 5):
                    assert not violated(x, y, start, 1), (a, b, cells, reach, start)
                    seen += 1
    assert seen > 10_000


def test_without_the_step_it_is_not() -> None:
    x, y = Naive((0, 0), (0, 1), 2, 5), Naive((0, 1), (0, 1), 2, 5)
    assert x.value(3) == 0
    assert y.value(3) == 1
    assert x.smooth(3) == F(1, 2)
    assert violated(x, y, 3, 0)
    # The other way a record that rises moves the window further off.
    assert any(violated(x, y, start, -1) for start in range(-2, 8))
    # And without the floor the second claim fails.
    ties = Naive((0, 0, 0, 0, 1), (0, 1), 2, 1), Naive((0, 0, 0, 1, 1), (0, 1), 2, 1)
    assert any(violated(*ties, start, 1, floor=False) for start in range(-2, 12))
    assert not any(violated(*ties, start, 1) for start in range(-2, 12))


# ---- 2: divergences, end to end --------------------------------------------------------------


def laws(
    data: Sequence[int],
    windows: Sequence[tuple[HalfShiftWindow, float]],
    *,
    top: int,
    variance: float | None,
    grids: Sequence[Any],
    law: NoiseDistribution,
) -> Any:
    """Return the density of the values over a grid: the mixture over h, or h = 0 for None."""
    reach = 0 if variance is None else math.ceil(9 * math.sqrt(variance)) + 1
    column = HalfShiftColumn(np.array(data, dtype=np.float64), (F(0), F(top)))
    weights = [
        1.0 if variance is None else math.exp(-h * h / 2 / variance)
        for h in range(-reach, reach + 1)
    ]
    total: Any = 0.0
    for h, weight in zip(range(-reach, reach + 1), weights, strict=True):
        column.arrange([(window, h) for window, _ in windows])
        density: Any = weight / sum(weights)
        for axis, ((window, shift), grid) in enumerate(zip(windows, grids, strict=True)):
            k, d = column.largest(window, h)
            scale = float(d) / window.cells * math.exp(-k * float(window.smoothing)) / shift
            part = np.asarray(law.density((grid - float(column.value(window, h))) / scale)) / scale
            shape = [1] * len(windows)
            shape[axis] = -1
            density = density * part.reshape(shape)
        total = total + density
    return total


def worst(
    windows: Sequence[tuple[HalfShiftWindow, float]],
    law: NoiseDistribution,
    *,
    n: int,
    top: int,
    variance: float | None,
    rho: float,
    points: int,
    reach: float,
) -> float:
    """Return the largest D_order / (order rho) over small databases and both directions."""
    # Values far out count too: arsinh, so that cells grow with the distance.
    u = np.linspace(-reach, reach, points)
    middle = np.sinh(u) + top / 2
    cells = np.cosh(u) * (u[1] - u[0])
    area: Any = cells
    for _ in windows[1:]:
        area = np.multiply.outer(area, cells)
    found: dict[tuple[int, ...], Any] = {}
    for x in combinations_with_replacement(range(top + 1), n):
        found[x] = laws(
            x, windows, top=top, variance=variance, grids=[middle] * len(windows), law=law
        )
        assert float((found[x] * area).sum()) == pytest.approx(1, abs=2e-3)
    largest = 0.0
    for x, y in neighbours(n, top):
        for order in (1.1, 2.0, 5.0):
            for p, q in ((found[x], found[y]), (found[y], found[x])):
                both = (p > 1e-280) & (q > 1e-280)
                logs = order * np.log(p[both]) + (1 - order) * np.log(q[both])
                value = math.log(float((np.exp(logs) * area[both]).sum())) / (order - 1)
                largest = max(largest, value / (order * rho))
    return largest


def part(rho: Fraction, t: str, centre: int, width: int, reach: int = 60) -> tuple[Any, Any]:
    window = HalfShiftWindow(centre, width, F(t), reach)
    made = calibrated(sd.ZCDP(rho), F(t))
    return (window, made.shift), made.law


RHO = F(1, 2)


def test_divergences_of_one_value() -> None:
    """The budget of a release of one value, with ties, and data at the bounds: never exceeded."""
    variance = float(split(sd.ZCDP(RHO), 1, has_bars=False).shift_variance)
    for centre, width, t in ((4, 1, "0.2"), (5, 2, "0.3")):
        one, law = part(RHO / 2, t, centre, width)
        found = worst(
            [one], law, n=3, top=2, variance=variance, rho=float(RHO), points=1201, reach=9.0
        )
        assert 0.3 < found <= 1 + 1e-6


def test_a_shift_that_is_not_drawn_costs_more() -> None:
    """The control: the same noise around the unmoved window, at its whole cost."""
    one, law = part(RHO / 2, "0.2", 4, 1)
    found = worst([one], law, n=3, top=2, variance=None, rho=float(RHO), points=1201, reach=9.0)
    assert found > 1.5


def test_divergences_of_two_values() -> None:
    """Two windows behind one shift, which overlap; and the control without."""
    budget = split(sd.ZCDP(RHO), 2, has_bars=False)
    rho = budget.part.parameters()["rho"]
    assert isinstance(rho, Fraction)
    first, law = part(rho, "0.2", 2, 1)
    second = HalfShiftWindow(4, 1, F("0.2"), 60), first[1]
    kept = {"n": 2, "top": 1, "rho": float(RHO), "points": 141, "reach": 5.5}
    found = worst([first, second], law, variance=float(budget.shift_variance), **kept)  # type: ignore[arg-type]
    assert 0.3 < found <= 1 + 1e-3
    assert worst([first, second], law, variance=None, **kept) > 1.1  # type: ignore[arg-type]


# ---- 3: the floor ----------------------------------------------------------------------------


def test_without_the_floor_an_atom_tells() -> None:
    data = [-1] * 29 + [0] * 42 + [1] * 30
    other = [-1] * 29 + [0] * 41 + [1] * 31
    x, y = (Naive(v, (-1, 1), 2, 40) for v in (data, other))
    shifts = range(-120, 121)
    zero = [h for h in shifts if x.smooth(101 + h, floor=False) == 0 and x.value(101 + h) == 0]
    assert zero == [-1]
    assert not [h for h in shifts if y.smooth(101 + h, floor=False) == 0 and y.value(101 + h) == 0]
    for variance, least in ((1, 0.24), (10, 0.12)):
        whole = sum(math.exp(-h * h / 2 / variance) for h in range(-200, 201))
        assert math.exp(-1 / 2 / variance) / whole > least
    # With it no sensitivity is 0, and neighbours' are within e^t.
    column = HalfShiftColumn(np.array(data, dtype=np.float64), (F(-1), F(1)))
    window = HalfShiftWindow(102, 1, F(1), 40)
    column.arrange([(window, -1)])
    assert column.largest(window, -1) == (40, F(2))


# ---- 4: the budget ---------------------------------------------------------------------------


def test_the_split_is_the_best() -> None:
    for m in (1, 2, 3, 9, 50):
        budget = split(sd.ZCDP(1), m, has_bars=False)
        rho = budget.part.parameters()["rho"]
        assert isinstance(rho, Fraction)
        shift = 1 / (2 * budget.shift_variance)
        assert shift + m * rho == 1
        found = 1 / shift + 1 / rho
        assert found == pytest.approx((1 + math.sqrt(m)) ** 2, rel=1e-5)
        others = [1 / (s / 100) + m / (1 - s / 100) for s in range(1, 100)]
        assert found <= min(others) * (1 + 1e-5)
        with_bars = split(sd.ZCDP(1), m, has_bars=True)
        rest = with_bars.part.parameters()["rho"]
        assert isinstance(rest, Fraction)
        assert 1 / (2 * with_bars.shift_variance) + m * (rest + with_bars.bar_cost) == 1


# ---- 5: the code is the definition -----------------------------------------------------------


def test_the_code_is_the_definition() -> None:
    """Values and sensitivities beside the definition, every k looked at, floats and integers."""
    rng = random.Random(5)
    for trial in range(250):
        n, top = rng.randrange(1, 7), rng.choice((1, 3, 50))
        data = [rng.randrange(-2, top + 3) for _ in range(n)]
        width, reach = rng.randrange(1, 4), rng.choice((0, 1, 4, 30))
        naive = Naive(data, (0, top), 2 * width, reach)
        kind = np.int64 if trial % 2 else np.float64
        column = HalfShiftColumn(np.array(data, dtype=kind), (F(0), F(top)))
        # ln 2 is not rational: t beside it, and the definition at this t in floats.
        window = HalfShiftWindow(rng.randrange(0, 2 * n + 3), width, F(LN2), reach)
        h = rng.choice((0, 1, -1, rng.randrange(-9, 10), 10**6, -(10**30)))
        column.arrange([(window, h)])
        near = min(max(h, -1000), 1000)
        start = window.centre - width + near
        assert column.value(window, h) == naive.value(start)
        k, d = column.largest(window, h)
        found = math.log(d / (2 * width)) - k * LN2
        assert found == pytest.approx(math.log(naive.smooth(start)), abs=1e-12)


def test_bounds_that_are_no_floats() -> None:
    """Every value is a bound, or a bound stands next to a value: no digit is lost."""
    bounds = F(1, 5), F(4, 5)
    column = HalfShiftColumn(np.array([0, 1, 1], dtype=np.int64), bounds)
    window = HalfShiftWindow(4, 1, F(1, 10), 20)
    column.arrange([(window, 0)])
    assert column.value(window, 0) == F(4, 5)
    near = HalfShiftColumn(np.array([0.1, 0.1, 0.1]), (F(1, 10), F(1)))
    near.arrange([(window, -3)])
    # The float 0.1 is above 1/10 by 5.6e-18.
    k, d = near.largest(window, -3)
    exact = {F(0.1) - F(1, 10), F(9, 10), F(1) - F(0.1)}
    assert d in exact
    assert near.value(window, -3) in {F(1, 10), (F(0.1) + F(1, 10)) / 2, F(0.1)}
    assert k >= 0


# ---- 6: coverage -----------------------------------------------------------------------------


def test_a_quantile_is_within_the_excess() -> None:
    rng = random.Random(6)
    tight = 0.0
    for _ in range(400):
        n, top = rng.randrange(1, 7), rng.choice((1, 3, 9))
        width, reach = rng.randrange(1, 4), rng.choice((0, 3, 12))
        naive = Naive([rng.randrange(top + 1) for _ in range(n)], (0, top), 2 * width, reach)
        window = HalfShiftWindow(0, width, F(LN2), reach)
        start = rng.randrange(-3, 2 * n + 4)
        for c in range(2 * n + 1):
            (k,) = excesses(window, start, np.array([float(c)]))
            far = max(abs(naive.value(start) - naive.d(i)) for i in (c, c + 1))
            assert far <= F(float(k)) * naive.smooth(start)
            if k:
                tight = max(tight, float(far / (F(float(k)) * naive.smooth(start))))
    assert tight > 0.999


def covered(
    window: HalfShiftWindow,
    made: Any,
    spread: float,
    variance: float,
    wide: float,
    data: Any,
    ends: tuple[int, int],
    theta: float,
) -> float:
    """Return P(|y - theta| <= F e^L) at one database, by quadrature over h and B."""
    column = HalfShiftColumn(data, (F(ends[0]), F(ends[1])))
    reach = math.ceil(8 * math.sqrt(variance))
    shifts = range(-reach, reach + 1)
    weights = np.array([math.exp(-h * h / 2 / variance) for h in shifts])
    x, w = np.polynomial.hermite_e.hermegauss(40)
    total = 0.0
    for h, weight in zip(shifts, weights / weights.sum(), strict=True):
        column.arrange([(window, h)])
        k, d = column.largest(window, h)
        scale = float(d) / window.cells * math.exp(-k * float(window.smoothing))
        off = (float(column.value(window, h)) - theta) / scale
        half = wide * np.exp(spread * x)
        hit = made.law.cdf((half - off) * made.shift) - made.law.cdf((-half - off) * made.shift)
        total += float(weight) * float(hit @ w) / math.sqrt(2 * math.pi)
    return total


def bars(level: Fraction, n: int, *, population: bool = False) -> Any:
    """Return a window, its noise, the spread, and F for 95%."""
    budget = split(sd.ZCDP(RHO), 1, has_bars=True)
    window = HalfShiftWindow(2 * (math.floor(level * (n - 1) + F(1, 2)) + 1), 3, F("0.1"), 400)
    made = calibrated(budget.part, window.smoothing)
    spread = 0.1 / math.sqrt(2 * float(budget.bar_cost))
    target = Target(level, n, population)
    variance = budget.shift_variance
    wide = factor(made.law, made.shift, spread, window, variance, target, 0.95)
    return window, made, spread, float(variance), wide


def test_intervals_cover_at_two_point_data() -> None:
    """Equal up to a rank and equal beyond: what breaks intervals that are about a window."""
    n = 31
    for level in (F(1, 2), F(1, 4)):
        window, made, spread, variance, wide = bars(level, n)
        r_low, r_high = math.ceil(level * n), math.floor(level * n) + 1
        found = []
        for zeros in range(n + 1):
            data = np.array([0.0] * zeros + [1.0] * (n - zeros))
            theta = {float(data[r_low - 1]), float(data[r_high - 1])}
            for one in theta:
                args = window, made, spread, variance, wide, data, (-5, 7), one
                found.append(covered(*args))
        ties = covered(
            window, made, spread, variance, wide, np.arange(n) * 1.0, (-90, 99), r_low - 1.0
        )
        assert min(*found, ties) >= 0.95
        # Both sides are given their worst at every h, which no data attain.
        assert min(found) < 0.99
        # The control: intervals of half the width fail there.
        narrow = wide * 0.5
        low = [
            covered(window, made, spread, variance, narrow, np.array([0.0] * z + [1.0] * (n - z)),
                    (-5, 7), float(z < r_low))
            for z in (r_low - 1, r_low)
        ]  # fmt: skip
        assert min(low) < 0.93


def test_intervals_cover_the_population() -> None:
    """Two-point laws with the quantile at the jump: every database with its probability."""
    n, level = 15, F(1, 2)
    window, made, spread, variance, wide = bars(level, n, population=True)
    for chance in (0.5, 0.4):
        covers, misses = 0.0, 0.0
        for zeros in range(n + 1):
            weight = math.comb(n, zeros) * chance**zeros * (1 - chance) ** (n - zeros)
            data = np.array([0.0] * zeros + [1.0] * (n - zeros))
            theta = 0.0 if chance >= 0.5 else 1.0
            args = window, made, spread, variance
            covers += weight * covered(*args, wide, data, (-3, 4), theta)
            misses += weight * covered(*args, wide / 4, data, (-3, 4), theta)
        assert covers >= 0.95
        if chance == 0.5:
            assert misses < 0.93


# ---- 7: sorting ------------------------------------------------------------------------------


def test_ends_are_sorted_together_or_not_at_all() -> None:
    rng = random.Random(7)
    for _ in range(500):
        theta = sorted(rng.random() for _ in range(4))
        low = [value - rng.random() for value in theta]
        high = [value + rng.random() for value in theta]
        assert all(a <= b for a, b in zip(sorted(low), theta, strict=True))
        assert all(a >= b for a, b in zip(sorted(high), theta, strict=True))
    # Each for itself: the larger of two lower ends misses more often than either.
    assert 1 - (1 - F(1, 20)) ** 2 > F(9, 100)
    query = sd.queries.Quantiles([0.4, 0.6], bounds=(0, 10))
    data = [5] * 100
    asked = {"guarantee": sd.ZCDP("0.01"), "confidence": 0.5}
    single = [sd.release(data, query, rng=sd.SeededRandom(i), **asked) for i in range(12)]  # type: ignore[arg-type]
    both = [
        sd.release(data, query, rng=sd.SeededRandom(i), simultaneous=True, **asked)  # type: ignore[arg-type]
        for i in range(12)
    ]
    ends: list[Any] = [one.interval for one in both]  # type: ignore[attr-defined]
    assert all(a[0] <= b[0] and a[1] <= b[1] for a, b in ends)
    loose: list[Any] = [one.interval for one in single]  # type: ignore[attr-defined]
    assert not all(a[0] <= b[0] and a[1] <= b[1] for a, b in loose)


# ---- 8: Gaussian DP --------------------------------------------------------------------------


def test_gaussian_dp_end_to_end() -> None:
    """Hockey sticks of small databases below those of mu, with noise that is pure DP."""
    mu = F(1)
    budget = split(sd.GaussianDP(mu), 1, has_bars=False)
    made = calibrated(budget.part, F("0.05"))
    window = HalfShiftWindow(4, 1, F("0.05"), 400)
    u = np.linspace(-16, 16, 3001)
    grid, cells = np.sinh(u) + 1, np.cosh(u) * (u[1] - u[0])
    profile = sd.GaussianDP(mu).profile()
    largest, control = 0.0, 0.0
    for variance in (float(budget.shift_variance), None):
        found: dict[tuple[int, ...], Any] = {
            x: laws(x, [(window, made.shift)], top=2, variance=variance, grids=[grid], law=made.law)
            for x in combinations_with_replacement(range(3), 3)
        }
        for x, y in neighbours(3, 2):
            for p, q in ((found[x], found[y]), (found[y], found[x])):
                for epsilon in (0.0, 0.5, 1.0):
                    stick = float((np.maximum(p - math.exp(epsilon) * q, 0) * cells).sum())
                    share = stick / profile.delta(epsilon)
                    if variance is None:
                        control = max(control, share)
                    else:
                        largest = max(largest, share)
    assert 0.3 < largest <= 1 + 1e-6
    assert control > 1
    # The discrete law is easier to tell than the normal one of the same sigma.
    assert 1 / float(budget.shift_variance) < float(mu**2)
