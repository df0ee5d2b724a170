"""The page proofs/mixtures-of-gaussians: its statements against sums that know nothing of them."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from flint import acb, arb, ctx, fmpq
from mpmath import mpf

import smoothdp as sd
from smoothdp.claims.excess import log_gaussian_square_excess
from smoothdp.composition.laws.product import Product
from smoothdp.composition.routes.solver import Solver
from smoothdp.exact.balls.balls import precision
from smoothdp.exact.parameters.numbers import LogRatio
from smoothdp.training_runs.gaussian_step.mixture_law import First, MixtureLaw
from smoothdp.training_runs.gaussian_step.mixture_lines import ManyShifts
from smoothdp.training_runs.gaussian_step.mixture_part import MixturePart
from smoothdp.training_runs.gaussian_step.mixture_step import (
    Shifts,
    log_with_first,
    log_without_first,
)
from smoothdp.training_runs.gaussian_step.one_step import log_base_excess, log_mixture_excess
from smoothdp.training_runs.gaussian_step.path_panels import Branch
from smoothdp.training_runs.gaussian_step.plain_sums import PlainSums, moments_of
from smoothdp.types import ComplexArray, FloatArray

F = Fraction
GROWTHS = (F(1), F(6, 5), F(2), F(5))
# A square of the plane by the midpoint rule, off by less than this at the kinks.
AXIS = np.linspace(-8.0, 13.0, 601)
CELL = float(AXIS[1] - AXIS[0]) ** 2
ROUGH = 2e-5
FIRSTS: list[First] = ["with_record", "without_record"]


def drawn_shifts(seed: int, *, still: bool = True, scale: float = 1.0) -> Shifts:
    rng = random.Random(seed)
    sizes = {F(f"{scale * rng.uniform(0.1, 2):.3g}") for _ in range(3)}
    ordered = [*([F(0)] if still else []), *sorted(sizes)]
    weights = [F(rng.randint(1, 20)) for _ in ordered]
    if still:
        weights[0] *= rng.choice([1, 30])
    return Shifts(tuple(ordered), tuple(weight / sum(weights) for weight in weights))


def logs(growth: Fraction) -> LogRatio | Fraction:
    return LogRatio(growth) if growth > 1 else F(0)


def bounds(shifts: Shifts, growth: Fraction) -> tuple[float, float]:
    """Return upper bounds of D of both directions."""
    first = log_with_first(shifts, logs(growth)).upper
    second = log_without_first(shifts, logs(growth)).upper
    return math.exp(first), math.exp(second)


def in_the_plane(
    vectors: list[tuple[float, float]], weights: list[float], growth: Fraction
) -> tuple[float, float]:
    """Return D of the mixture of N(v_i, I) against N(0, I) in the plane, and of the reverse."""
    x, y = np.meshgrid(AXIS, AXIS, sparse=True)
    base = np.exp(-0.5 * (x * x + y * y)) / (2 * math.pi) * CELL
    ratio: FloatArray = sum(  # type: ignore[assignment]
        w * np.exp(a * x + b * y - 0.5 * (a * a + b * b))
        for (a, b), w in zip(vectors, weights, strict=True)
    )
    e = float(growth)
    return (
        float(np.sum(base * np.maximum(ratio - e, 0.0))),
        float(np.sum(base * np.maximum(1 - e * ratio, 0.0))),
    )


def turned(shifts: Shifts, angles: list[float], longer: float = 1.0) -> list[tuple[float, float]]:
    return [
        (longer * float(m) * math.cos(angle), longer * float(m) * math.sin(angle))
        for m, angle in zip(shifts.sizes, angles, strict=True)
    ]


# ---- 1. One direction is the worst


def test_vectors_of_other_directions_lose_less() -> None:
    """Any angles: right ones, opposite ones, drawn ones. Equal ones attain the bound."""
    clearly_less = 0
    for seed in range(6):
        shifts = drawn_shifts(seed, still=seed % 2 == 0)
        rng, n = random.Random(seed), len(shifts.sizes)
        weights = [float(p) for p in shifts.probabilities]
        for angles in (
            [0.7] * n,
            [math.pi / 2 * i for i in range(n)],
            [math.pi * i for i in range(n)],
            [rng.uniform(-math.pi, math.pi) for _ in range(n)],
        ):
            for growth in GROWTHS[:3]:
                found = in_the_plane(turned(shifts, angles), weights, growth)
                limits = bounds(shifts, growth)
                for value, limit in zip(found, limits, strict=True):
                    assert value <= limit + ROUGH
                    if len(set(angles)) == 1:
                        assert value >= limit - ROUGH
                    clearly_less += value < limit - 1e-3
    assert clearly_less > 20


def test_a_longer_vector_breaks_the_bound() -> None:
    shifts = drawn_shifts(0)
    weights = [float(p) for p in shifts.probabilities]
    longer = turned(shifts, [0.3] * len(weights), longer=1.05)
    found, limits = in_the_plane(longer, weights, F(1)), bounds(shifts, F(1))
    assert all(value > limit + 10 * ROUGH for value, limit in zip(found, limits, strict=True))


def test_a_published_index_breaks_the_bound() -> None:
    shifts = drawn_shifts(2)
    for growth in GROWTHS:
        seen = sum(
            float(p) * math.exp(log_gaussian_square_excess(m * m, logs(growth)).lower)
            for m, p in shifts.moving
        )
        assert seen > max(bounds(shifts, growth)) * 1.001


def test_larger_shifts_lose_more() -> None:
    """Each shift larger, more probability on larger ones, less noise; not: on smaller ones."""
    few = drawn_shifts(4)
    sizes, shares = few
    larger = Shifts((sizes[0], *(m * F(11, 10) for m in sizes[1:])), shares)
    moved = Shifts(sizes, (shares[0], shares[1] / 2, shares[2], shares[3] + shares[1] / 2))
    less = Shifts(sizes, (shares[0] + shares[3] / 2, *shares[1:3], shares[3] / 2))
    for growth in GROWTHS:
        here = bounds(few, growth)
        for other, sign in ((larger, 1), (moved, 1), (less, -1)):
            there = bounds(other, growth)
            for one, two in zip(here, there, strict=True):
                assert sign * (two - one) > 0 or one == two == 0.0


# ---- 2. One release


def weighted(part: Callable[[mpf], mpf], unit: mpf) -> Callable[[mpf], mpf]:
    return lambda y: mpmath.npdf(y) / unit * part(y)


@pytest.mark.parametrize("seed", range(4))
def test_one_release_by_integration(seed: int) -> None:
    shifts = drawn_shifts(seed, still=seed != 1, scale=(1, 1, 3, 0.1)[seed])
    with mpmath.workdps(30):
        pairs = [
            (mpf(m.numerator) / m.denominator, mpf(p.numerator) / p.denominator)
            for m, p in zip(*shifts, strict=True)
        ]

        def ratio(y: mpf) -> mpf:
            return sum(p * mpmath.exp(m * y - m * m / 2) for m, p in pairs)

        for growth in GROWTHS[1:3]:
            e = mpf(growth.numerator) / growth.denominator
            for part, bracket, level in (
                (lambda y: ratio(y) - e, log_with_first, e),  # noqa: B023
                (lambda y: 1 - e * ratio(y), log_without_first, 1 / e),  # noqa: B023
            ):
                found = bracket(shifts, logs(growth))
                still = mpf(shifts.still.numerator) / shifts.still.denominator
                if level <= still:
                    assert found.upper == -math.inf
                    continue
                # The root by halving.
                low, high = mpf(-200), mpf(200)
                for _ in range(120):
                    middle = (low + high) / 2
                    low, high = (middle, high) if ratio(middle) < level else (low, middle)
                way = 1 if bracket is log_with_first else -1
                steps = (0, 0.05, 0.15, 0.3, 0.6, 1, 2, 4, 7, 11, 20, 40)
                edges = [high + way * step for step in steps]
                # mpmath stops by absolute errors.
                unit = mpmath.npdf(high)
                truth = way * unit * mpmath.quad(weighted(part, unit), edges)
                assert found.lower <= mpmath.log(truth) <= found.upper
                assert found.upper - found.lower < 1e-14 * (1 + abs(found.upper))


def test_the_sampled_gaussian_is_a_mixture_of_two() -> None:
    for rate, mu in ((F(1, 100), F(1)), (F(1, 2), F(1, 3)), (F(9, 10), F(4)), (F(1), F(2))):
        shares = (1 - rate, rate) if rate < 1 else (rate,)
        shifts = Shifts((F(0), mu)[-len(shares) :], shares)
        for epsilon in (F(0), F(1, 10**9), F(1, 2), F(3), F(60), LogRatio(F(3, 2))):
            for mine, other in (
                (log_with_first(shifts, epsilon), log_mixture_excess(rate, mu, epsilon)),
                (log_without_first(shifts, epsilon), log_base_excess(rate, mu, epsilon)),
            ):
                assert mine.lower <= other.upper
                assert other.lower <= mine.upper


def test_far_out_a_tail_bounds_it() -> None:
    shifts = drawn_shifts(1)
    for epsilon in (F(10**9), F(10**15)):
        found = log_with_first(shifts, epsilon)
        m = float(shifts.sizes[-1])
        assert found.lower == -math.inf
        assert found.upper == pytest.approx(-((float(epsilon) / m) ** 2) / 2, rel=1e-6)
        assert log_without_first(shifts, epsilon).upper == -math.inf
    apart = Shifts((F(1), F(2)), (F(1, 2), F(1, 2)))
    assert log_without_first(apart, F(10**6)).upper < -(10.0**11)
    nearly = Shifts((F(0), F(1)), (F(1, 2), F(1, 2)))
    deep = log_without_first(nearly, LogRatio(2 - F(1, 10**300)))
    assert -math.inf < deep.lower <= deep.upper < -1e5


# ---- 3. All records of a person, drawn by coins


@pytest.mark.parametrize("seed", range(3))
def test_subsets_of_a_persons_records(seed: int) -> None:
    """Three records with vectors of norm at most 1 anywhere: all eight subsets, both ways."""
    rng = random.Random(seed)
    q, sigma = F(rng.randint(1, 9), 10), F(rng.randint(5, 15), 10)
    angles = [0.0] * 3 if seed == 0 else [rng.uniform(-2.5, 2.5) for _ in range(3)]
    lengths = [1.0, 1.0, 1.0 if seed < 2 else 0.4]
    vectors, weights = [], []
    for chosen in itertools.product((0, 1), repeat=3):
        parts = [
            (n * math.cos(angle), n * math.sin(angle))
            for n, angle, here in zip(lengths, angles, chosen, strict=True)
            if here
        ]
        vectors.append(tuple(sum(part[i] for part in parts) / float(sigma) for i in (0, 1)))
        weights.append(float(q) ** sum(chosen) * float(1 - q) ** (3 - sum(chosen)))
    step = sd.MixtureOfGaussians.of_group(3, sampling_rate=q, sigma=sigma)
    for growth in GROWTHS[:3]:
        found = in_the_plane(vectors, weights, growth)  # type: ignore[arg-type]
        for way, value in zip(("remove", "add"), found, strict=True):
            limit = step.directed(way).delta(logs(growth))  # type: ignore[arg-type]
            assert value <= limit + ROUGH
            if seed == 0:
                assert value >= limit - ROUGH


# ---- 4. The ratio off the real line


def off_the_line(shifts: Shifts, y: FloatArray, s: FloatArray) -> ComplexArray:
    z = y + 1j * s
    parts = [
        float(p) * np.exp(float(m) * z - 0.5 * float(m) ** 2) for m, p in zip(*shifts, strict=True)
    ]
    return np.asarray(sum(parts))


def test_the_ratio_off_the_real_line() -> None:
    rng = np.random.default_rng(4)
    for seed in range(20):
        shifts = drawn_shifts(seed, still=seed % 2 == 0)
        m = np.array([float(x) for x in shifts.sizes])
        p = np.array([float(x) for x in shifts.probabilities])

        y = rng.uniform(-8, 8, 50)
        zero = np.zeros(50)
        quarter = math.pi / 2 / m[-1]
        s = rng.uniform(0, quarter, 50)
        high = rng.uniform(0, 1.999 * quarter, 50)
        slack = 1 + 1e-12
        assert (
            np.abs(off_the_line(shifts, y, high)) <= off_the_line(shifts, y, zero).real * slack
        ).all()
        assert (
            np.abs(off_the_line(shifts, y, high)) * slack
            >= off_the_line(shifts, y, zero).real * np.cos(m[-1] * high / 2)
        ).all()
        assert (
            off_the_line(shifts, y, s).real
            >= off_the_line(shifts, y, zero).real * np.cos(m[-1] * s) - 1e-12
        ).all()
        angle = np.angle(off_the_line(shifts, y, high))
        assert (angle >= 0).all()
        assert (angle <= m[-1] * high + 1e-12).all()
        more = s + rng.uniform(0, 1, 50) * (quarter - s)
        assert (
            np.angle(off_the_line(shifts, y, more)) >= np.angle(off_the_line(shifts, y, s)) - 1e-12
        ).all()
        assert (
            np.abs(off_the_line(shifts, y + 0.1, s)) * slack >= np.abs(off_the_line(shifts, y, s))
        ).all()
        assert (
            np.abs(off_the_line(shifts, y, s)) * slack >= p[0] * np.exp(m[0] * y - m[0] ** 2 / 2)
        ).all()
        falls = [np.log(off_the_line(shifts, x, zero).real) - m[-1] * x for x in (y, y + 0.1)]
        assert (falls[1] <= falls[0] + 1e-12).all()
        ahead = np.angle(off_the_line(shifts, y + 0.1, s))
        assert (ahead >= np.angle(off_the_line(shifts, y, s)) - 1e-12).all()
        sizes = [np.abs(off_the_line(shifts, y, height)) for height in (s, more)]
        assert (sizes[1] <= sizes[0] * slack).all()
    # Beyond a right angle (v) fails.
    far = np.abs(1 + np.exp(2.5j) * np.array([0.2, 0.5]))
    assert far[1] < far[0]


# ---- 5, 6. The transform


def exact(shifts: Shifts, w: complex, step: float, reach: float) -> complex:
    """The integral of N R^w by a rule of far smaller steps, in balls of 160 bits."""
    with precision(160):
        half = (2 * arb.pi()).log() / 2
        pairs = [(ball_of(m), ball_of(p)) for m, p in zip(*shifts, strict=True)]
        total = acb(0)
        for j in range(-math.ceil(reach / step), math.ceil(reach / step) + 1):
            y = arb(j) * step
            ratio = sum((p * (m * y - m * m / 2).exp() for m, p in pairs), start=arb(0)).log()
            total += (acb(-y * y / 2 - half) + acb(w.real, w.imag) * acb(ratio)).exp()
        total *= step
        return complex(float(total.real.mid()), float(total.imag.mid()))


def ball_of(value: Fraction) -> arb:
    return arb(fmpq(value.numerator, value.denominator))


def plain(shifts: Shifts, power: float, reach: float = 14.0) -> PlainSums:
    return PlainSums(ManyShifts(shifts), Branch(power, -reach, reach, False, False))


SUMS = [
    (Shifts((F(0), F(1, 2), F(1)), (F(8, 10), F(1, 10), F(1, 10))), 2.5),
    (Shifts((F(0), F(1, 2), F(1)), (F(8, 10), F(1, 10), F(1, 10))), -1.5),
    (Shifts((F(1, 4), F(3, 2)), (F(1, 3), F(2, 3))), 2.0),
    (Shifts((F(1, 4), F(3, 2)), (F(1, 3), F(2, 3))), -2.0),
]


@pytest.mark.parametrize(("shifts", "power"), SUMS)
def test_the_trapezoid_rule(shifts: Shifts, power: float) -> None:
    """Steps so coarse that the error shows: it is below the bound, and near it."""
    m, least = float(shifts.sizes[-1]), 1.0
    whole = exact(shifts, complex(power, 0), 1 / 16, 14.0).real
    for t in (0.0, 6.0):
        w = complex(power, t if power > 0 else -t)
        truth = exact(shifts, w, 1 / 32, 14.0)
        for step in (1.0, 0.75):
            off = abs(exact(shifts, w, step, 14.0) - truth)
            best = math.inf
            for d in np.linspace(0.05, 0.99, 40) * math.pi / (2 * m):
                kappa = 1.0 if power > 0 else math.cos(m * d) ** power
                size = 2 * math.exp(d * d / 2 + t * m * d) * kappa * whole
                best = min(best, size / math.expm1(2 * math.pi * d / step))
            assert off <= best * (1 + 1e-9) + 1e-13
            least = min(least, best / max(off, 1e-300))
    assert least < 1e5


@pytest.mark.parametrize(("shifts", "power"), SUMS)
def test_what_the_ends_leave_out(shifts: Shifts, power: float) -> None:
    ratio, step = ManyShifts(shifts), 1 / 16
    first, last = float(shifts.sizes[0]), float(shifts.sizes[-1])
    low = min(-1.0, power * first) - 1.0
    high = max(1.0, power * last) + 1.0
    for height in (0.0, 0.6 * math.pi / 2 / last):
        for end, way in ((low, -1), (high, 1)):
            y = end + way * step * np.arange(1, 400, dtype=np.float64)
            log_size, _ = ratio.log_ratio(y, np.full(y.size, height))
            terms = step * np.exp(power * log_size - 0.5 * y * y) / math.sqrt(2 * math.pi)
            at, _ = ratio.log_ratio(np.array([end]), np.full(1, height))
            real = ratio.log_real_ratio(np.array([end]))
            if way < 0:
                bound = ratio.log_left(power, end, float(real[0]))
            else:
                bound = ratio.log_right(power, end, float(at[0]))
            assert math.log(float(terms.sum())) <= bound
            assert bound < math.log(float(terms.sum())) + 6


@pytest.mark.parametrize(("shifts", "power"), SUMS)
@pytest.mark.parametrize("reach", [2.0, 3.0, 5.0])
def test_a_line_that_is_too_short_says_so(shifts: Shifts, power: float, reach: float) -> None:
    """What it leaves out at both ends is in its error; at 2 that is not little."""
    whole = exact(shifts, complex(power, 0), 1 / 32, 14.0).real
    moments = moments_of(plain(shifts, power, reach))
    off = abs(math.log(whole) - moments.log_mgf)
    assert off <= moments.error
    assert reach > 2 or off > 1e-3


@pytest.mark.parametrize(("shifts", "power"), SUMS)
def test_lines_off_the_real_one(shifts: Shifts, power: float) -> None:
    """The rule on a line, of any step: within the bound, which knows no t."""
    m = float(shifts.sizes[-1])
    whole = exact(shifts, complex(power, 0), 1 / 16, 14.0).real
    sign = 1 if power > 0 else -1
    shown = 0
    for t in (0.0, 9.0, 40.0):
        w = complex(power, sign * t)
        truth = exact(shifts, w, 1 / 64, 14.0)
        for share in (0.4, 0.9):
            s = share * math.pi / (2 * m)
            d = 0.95 * min(s, math.pi / m - s)
            for step in (0.5, 1.0):
                z = step * np.arange(-40, 41) + 1j * sign * s
                ratio = sum(
                    float(p) * np.exp(float(x) * z - float(x) ** 2 / 2)
                    for x, p in zip(*shifts, strict=True)
                )
                terms = np.exp(-z * z / 2) / math.sqrt(2 * math.pi) * np.exp(w * np.log(ratio))
                kappa = 1.0 if power > 0 else math.cos(m * (s + d) / 2) ** power
                size = 2 * math.exp((s + d) ** 2 / 2) * kappa * whole
                off = abs(step * complex(terms.sum()) - truth)
                assert off <= size / math.expm1(2 * math.pi * d / step) + 1e-12
                shown += off > 1e-6
    assert shown > 2


@pytest.mark.parametrize("first", FIRSTS)
def test_the_transform_falls_under_its_bound(first: First) -> None:
    for shifts in (SUMS[0][0], SUMS[2][0]):
        law = MixtureLaw(shifts, first)
        log_mgf = law.moments(1.5).log_mgf
        for t in (0.5, 3.0, 17.0):
            w = complex(2.5, t) if first == "with_record" else complex(-1.5, -t)
            size = abs(exact(shifts, w, 1 / 32, 16.0)) / math.exp(log_mgf)
            later = abs(exact(shifts, w * 1.0 + 1j * 2 * np.sign(w.imag), 1 / 32, 16.0))
            assert size <= law.decay(1.5, t) * (1 + 1e-9)
            assert later / math.exp(log_mgf) <= law.decay(1.5, t) * (1 + 1e-9)


# ---- 8. Parts of the line


def by_panels(shifts: Shifts, w: complex, low: float, high: float) -> complex:
    """The integral of N R^w over an interval by Gauss's rule on short panels of the real line."""
    nodes, weights = np.polynomial.legendre.leggauss(24)
    edges = np.linspace(low, high, 1200)
    half = (edges[1] - edges[0]) / 2
    y = np.add.outer((edges[1:] + edges[:-1]) / 2, half * nodes)
    ratio = off_the_line(shifts, y, np.zeros_like(y)).real
    terms = np.exp(-0.5 * y * y + w * np.log(ratio)) / math.sqrt(2 * math.pi)
    return complex((terms @ (half * weights)).sum())


@pytest.mark.parametrize("power", [1.5, 6.0])
def test_parts_of_the_line(power: float) -> None:
    """Moments, transform on the real line and off it, decay and mass of head and tail."""
    few = F(1, 1000)
    shifts = Shifts((F(0), F(1), F(2)), (1 - few - few**2, few, few**2))
    split = MixtureLaw(shifts, "with_record").split(0.7)
    assert split is not None
    head, tail = split.head, split.tail
    assert isinstance(head, MixturePart)
    cut = head.below
    assert cut is not None
    assert cut == 0.25 * round(4 * cut)
    for law, low, high in ((head, -11.0, cut), (tail, cut, 2 * power + 14.0)):
        whole = by_panels(shifts, power, low, high).real
        moments = law.moments(power - 1)
        assert abs(math.log(whole) - moments.log_mgf) <= moments.error + 1e-13
        assert moments.error < 1e-11
        for step, first in ((0.5, 3), (16.0, 7)):
            sums = law.transform(power - 1, step=step, count=first + 1, budget=1e-15)
            t = step * first
            exact_one = by_panels(shifts, complex(power, t), low, high) / whole
            turned_back = exact_one * np.exp(-1j * t * sums.centre)
            assert abs(sums.values[first] - turned_back) <= sums.error[first] + 1e-12
            assert sums.error[first] < 1e-9
            assert abs(exact_one) <= law.decay(power - 1, t) + 1e-12
    mass = by_panels(shifts, 1.0, cut, 16.0).real
    assert math.log(mass) <= split.log_mass < math.log(mass) + 3
    assert head.largest < 0.9
    assert tail.largest == math.inf


def test_rare_large_losses_agree_with_one_sum() -> None:
    """Where a tilt of all losses still serves, the sums by large losses lie within."""
    shifts = drawn_shifts(0)
    rare = Shifts(shifts.sizes, (1 - F(1, 2000), F(1, 4000), F(1, 8000), F(1, 8000)))
    solver = Solver(Product.of([(MixtureLaw(rare, "with_record"), 300)]), 1e-6)
    one, other = solver.inversion.log_bounds(0.4), solver.large_losses.log_bounds(0.4)
    assert other is not None
    assert one.lower <= other.upper
    assert other.lower <= one.upper
    assert one.upper - one.lower < 1e-3
    assert other.upper - other.lower < 1e-3


# ---- 7. Rounding


@pytest.mark.parametrize("seed", range(12))
def test_rounding_of_the_logarithm_of_the_ratio(seed: int) -> None:
    rng = np.random.default_rng(seed)
    count = int(rng.integers(1, 6))
    sizes = {F(f"{10 ** rng.uniform(-3, 1.2):.4g}") for _ in range(count)}
    sizes |= {F(0)} if seed % 3 else set()
    weights = [F(f"{10 ** rng.uniform(-rng.choice([1.0, 8.0, 350.0]), 0):.3g}") for _ in sizes]
    if seed % 2:
        weights[0] *= 1000
    if sum(weights) == 0 or 0 in weights:
        weights = [weight or F(1, 10**400) for weight in weights]
    shares = tuple(weight / sum(weights) for weight in weights)
    shifts = Shifts(tuple(sorted(sizes)), shares)
    ratio = ManyShifts(shifts)
    y = np.concatenate([rng.uniform(-15, 15, 20), rng.uniform(0, 80, 10)])
    for share in (0.0, *rng.uniform(0, 0.999, 3)):
        s = np.full(y.size, share * math.pi / 2 / ratio.m)
        log_size, angle = ratio.log_ratio(y, s)
        if share == 0.0:
            log_size = ratio.log_real_ratio(y)
        error = ratio.loss_error(y, s, log_size)
        with precision(200):
            for at, height, found, turn, bound in zip(
                y.tolist(),
                s.tolist(),
                log_size.tolist(),
                angle.tolist(),
                error.tolist(),
                strict=True,
            ):
                z = acb(at, height)
                parts = [
                    acb(ball_of(p)) * (ball_of(m) * z - ball_of(m * m) / 2).exp()
                    for m, p in zip(*shifts, strict=True)
                ]
                truth = sum(parts, start=acb(0)).log()
                assert abs(float((truth.real - found).mid())) <= bound
                assert abs(float((truth.imag - turn).mid())) <= bound
                assert bound < 1e-12 * (1 + abs(found) + 1e3 * float(ratio.m))
    assert ctx.prec < 200
