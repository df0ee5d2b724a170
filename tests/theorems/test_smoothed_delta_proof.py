"""Each statement of docs/proofs/smoothed-delta.md, in exact rationals where that is possible."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import cache
from itertools import pairwise, product

import numpy as np
import pytest

import smoothdp as sd
from smoothdp.testing import oracles
from smoothdp.types import FloatArray

F = Fraction
Counts = tuple[int, ...]
Vertex = tuple[Fraction, ...]
GROWTHS = (F(1), F(11, 10), F(2), F(5))
PAIRS = [
    (F(2, 5), F(3, 5)),
    (F(1, 10), F(9, 10)),
    (F(1, 3), F(2, 5)),
    (F(0), F(1, 4)),
    (F(1), F(0)),
]


def every_count(n: int, m: int) -> Iterator[Counts]:
    return (counts for counts in product(range(n + 1), repeat=m) if sum(counts) == n)


def ways(counts: Counts) -> int:
    left, result = sum(counts), 1
    for count in counts:
        result *= math.comb(left, count)
        left -= count
    return result


def chance(counts: Counts, vertex: Vertex) -> Fraction:
    """The multinomial probability."""
    powers = (p**count for p, count in zip(vertex, counts, strict=True))
    return math.prod(powers, start=F(ways(counts)))


def mean(f: Callable[[Counts], Fraction], k: Counts, vertices: Sequence[Vertex]) -> Fraction:
    """The expectation at a composition: every way of every vertex's records."""
    m = len(vertices[0])
    total = F(0)
    for parts in product(*(list(every_count(count, m)) for count in k)):
        mass = math.prod((chance(g, v) for g, v in zip(parts, vertices, strict=True)), start=F(1))
        total += mass * f(tuple(map(sum, zip(*parts, strict=True))))
    return total


def line(f: Sequence[Fraction], p: Fraction, q: Fraction) -> list[Fraction]:
    """F(0..n) for two values: j records of p, the others of q."""
    n, row, result = len(f) - 1, list(f), []
    for j in range(n + 1):
        left = n - j
        law = [math.comb(left, h) * q**h * (1 - q) ** (left - h) for h in range(left + 1)]
        result.append(sum((a * b for a, b in zip(law, row, strict=True)), F(0)))
        row = [(1 - p) * row[h] + p * row[h + 1] for h in range(left)]
    return result


@cache
def hypergeometric(n: int, draws: int, a: int) -> tuple[Fraction, ...]:
    below = math.comb(n, draws)
    return tuple(F(math.comb(a, i) * math.comb(n - a, draws - i), below) for i in range(draws + 1))


def sticks(n: int, draws: int, growth: Fraction) -> list[Fraction]:
    """g(A) = D(A, n - A) for A = 1..n; g(0) is not used."""
    result = [F(0)]
    for a in range(1, n + 1):
        here, there = hypergeometric(n, draws, a), hypergeometric(n, draws, a - 1)
        gaps = (p - growth * q for p, q in zip(here, there, strict=True))
        result.append(sum((gap for gap in gaps if gap > 0), F(0)))
    return result


def deltas(n: int, draws: int, growth: Fraction) -> list[Fraction]:
    """delta(0..n) of two values, over every neighbour and both directions."""
    g = sticks(n, draws, growth)
    every = [[a for a in (h, h + 1, n - h, n - h + 1) if 1 <= a <= n] for h in range(n + 1)]
    return [max(g[a] for a in places) for places in every]


def is_valley(f: Sequence[Fraction]) -> bool:
    signs = [b > a for a, b in pairwise(f) if a != b]
    return signs == sorted(signs)


def delta_of(m: int, draws: int, growth: Fraction) -> Callable[[Counts], Fraction]:
    @cache
    def of_sorted(counts: Counts) -> Fraction:
        x = oracles.database(counts)
        law = cache(lambda y: oracles.law_without_replacement(y, m, draws))
        return oracles.delta_by_enumeration(x, m, law, growth)

    return lambda counts: of_sorted(tuple(sorted(counts)))


def test_only_compositions_of_vertices_matter() -> None:
    """Statement 1: mixtures of vertices, a law for each record, against all compositions."""
    rng = random.Random(1)
    vertices = [(F(1, 2), F(1, 3), F(1, 6)), (F(1, 5), F(1, 5), F(3, 5)), (F(1), F(0), F(0))]
    for _ in range(6):
        values = {counts: F(rng.randint(0, 9)) for counts in every_count(3, 3)}
        best = max(mean(values.__getitem__, k, vertices) for k in every_count(3, 3))
        for _ in range(8):
            laws = []
            for _ in range(3):
                weights = [rng.randint(0, 4) for _ in vertices]
                weights[0] += 1
                shares = [F(w, sum(weights)) for w in weights]
                laws.append(
                    tuple(
                        sum(s * v[c] for s, v in zip(shares, vertices, strict=True))
                        for c in range(3)
                    )
                )
            total = F(0)
            for x in product(range(3), repeat=3):
                mass = math.prod((law[c] for law, c in zip(laws, x, strict=True)), start=F(1))
                total += mass * values[x.count(0), x.count(1), x.count(2)]
            assert total <= best
        # Outside the hull there is more: the corner of the third value.
    corner = [*vertices, (F(0), F(0), F(1))]
    only_third = {counts: F(counts[2]) for counts in every_count(3, 3)}
    inside = max(mean(only_third.__getitem__, k, vertices) for k in every_count(3, 3))
    assert mean(only_third.__getitem__, (0, 0, 0, 3), corner) > inside


def test_records_may_be_put_in_in_any_order() -> None:
    """Statement 2: operators in random orders, and blocks of two values."""
    rng = random.Random(2)
    vertices = [(F(1, 2), F(1, 3), F(1, 6)), (F(1, 5), F(1, 5), F(3, 5))]
    values = {counts: F(rng.randint(0, 9)) for counts in every_count(5, 3)}

    def put_in(table: dict[Counts, Fraction], vertex: Vertex, left: int) -> dict[Counts, Fraction]:
        result = {}
        for g in every_count(left, 3):
            grown = [tuple(x + (c == place) for c, x in enumerate(g)) for place in range(3)]
            result[g] = sum((p * table[h] for p, h in zip(vertex, grown, strict=True)), F(0))
        return result

    for order in ([0, 0, 1, 1, 1], [1, 0, 1, 0, 1], [1, 1, 1, 0, 0]):
        table = dict(values)
        for left, index in zip(range(4, -1, -1), order, strict=True):
            table = put_in(table, vertices[index], left)
        assert table[0, 0, 0] == mean(values.__getitem__, (2, 3), vertices)
    f = [F(rng.randint(0, 9)) for _ in range(10)]
    p, q = F(2, 7), F(3, 5)
    direct = line(f, p, q)

    def law(a: int, b: int) -> list[Fraction]:
        point = [F(0)] * (a + b + 1)
        for h in range(a + b + 1):
            point[h] = line([F(k == h) for k in range(a + b + 1)], p, q)[a]
        return point

    for s, b, c in [(3, 0, 0), (3, 3, 6), (4, 1, 2), (9, 5, 0)]:
        inner, outer = law(b, s - b), law(c, 9 - s - c)
        block = [sum((w * f[h + i] for i, w in enumerate(inner)), F(0)) for h in range(10 - s)]
        assert direct[c + b] == sum((w * v for w, v in zip(outer, block, strict=True)), F(0))


@pytest.mark.parametrize(("p", "q"), PAIRS)
def test_a_valley_is_largest_at_an_end(p: Fraction, q: Fraction) -> None:
    """Statement 3, for any valley-shaped function, flat parts and ends included."""
    rng = random.Random(3)
    for n in (1, 2, 3, 7):
        for turn in range(n + 1):
            for _ in range(6):
                steps = [F(rng.choice([0, 0, 1, 5, 40])) for _ in range(n)]
                f = [F(0)]
                for h, step in enumerate(steps):
                    f.append(f[-1] + (step if h >= turn else -step))
                assert is_valley(f)
                result = line(f, p, q)
                assert is_valley(result)
                assert max(result) == max(result[0], result[n])


def test_without_a_valley_it_need_not_be() -> None:
    f = [F(0), F(1), F(0)]
    result = line(f, F(1, 10), F(9, 10))
    assert not is_valley(f)
    assert max(result) > max(result[0], result[2])


@pytest.mark.parametrize("growth", GROWTHS)
def test_the_envelope_is_above_every_composition(growth: Fraction) -> None:
    """Statement 4, and its bracket is what the library gives."""
    valleys = 0
    for n, draws in [(5, 2), (8, 6), (9, 3), (12, 2)]:
        delta = deltas(n, draws, growth)
        assert delta == delta[::-1]
        e = [max(delta[min(h, n - h) : n // 2 + 1]) for h in range(n + 1)]
        assert is_valley(e)
        assert all(a >= b for a, b in zip(e, delta, strict=True))
        valleys += (e == delta) == is_valley(delta)
        for p, q in PAIRS:
            every, ends = line(delta, p, q), line(e, p, q)
            assert max(every[0], every[n]) <= max(every) <= max(ends[0], ends[n])
            if 0 < min(p, q) <= max(p, q) < 1:
                model = sd.DataModel([(p, 1 - p), (q, 1 - q)])
                mechanism = sd.SamplingHistogram(n, n_draws=draws)
                found = sd.smoothed_delta(mechanism, model, epsilon=f"ln({growth})")
                assert F(found.lower) <= max(every) <= F(found.delta)
    assert valleys == 4


def test_two_draws() -> None:
    """Statement 5 (i), against the laws themselves."""
    for growth in (F(1), F(8, 7), F(3)):
        for n in (3, 5, 7):
            for a, b in product(range(1, n + 1), range(n)):
                if a + b > n:
                    continue
                here = oracles.law_without_replacement(oracles.database((a, b, n - a - b)), 3, 2)
                moved = oracles.database((a - 1, b + 1, n - a - b))
                there = oracles.law_without_replacement(moved, 3, 2)
                assert n * (n - 1) * oracles.hockey_stick(here, there, growth) == of_two_draws(
                    a, b, n, growth - 1
                )


def of_two_draws(a: int, b: int, n: int, excess: Fraction) -> Fraction:
    """n (n - 1) D(a, b)."""
    return (
        (a - 1) * max(2 - excess * (a - 2), F(0))
        + 2 * (n - a - b) * max(1 - excess * (a - 1), F(0))
        + 2 * max(b + 1 - a - excess * (a - 1) * (b + 1), F(0))
    )


def psi(a: Fraction, b: Fraction, size: Fraction) -> Fraction:
    first, second = max(2 - size * a, F(0)), max(1 - size * a, F(0))
    return a * first + 2 * (1 - a - b) * second + 2 * max(b - a - size * a * b, F(0))


def test_two_draws_tend_to_the_limit() -> None:
    """Statement 5 (ii), and the ratio 25/24 of statement 6 (i)."""
    gaps = []
    for n in (100, 400):
        delta = deltas(n, 2, 1 + F(2, n))
        for p, limit in ((F(2, 5), F(12, 25)), (F(1, 2), F(1, 2))):
            law = [math.comb(n, h) * p**h * (1 - p) ** (n - h) for h in range(n + 1)]
            value = n * sum((a * b for a, b in zip(law, delta, strict=True)), F(0))
            assert limit == max(psi(p, 1 - p, F(2)), psi(1 - p, p, F(2)))
            gaps.append(abs(float(value / limit) - 1))
    assert gaps[2] < gaps[0] < 0.08
    assert gaps[3] < gaps[1] < 0.08
    size, shares = F(143, 100), (F(37, 143), F(49, 143), F(57, 143))
    every = [psi(a, b, size) for a, b in product(shares, repeat=2) if a != b]
    assert max(every) * size == F(13213, 10000)
    assert psi(F(43, 143), F(43, 143), size) * size == F(13249, 10000)


@pytest.mark.parametrize(
    ("n", "draws", "growth", "ends", "inside"),
    [
        (50, 2, F(26, 25), "0.010461103838", "0.010528783801"),
        (40, 38, F(101, 100), "0.476384960007", "0.477777435969"),
    ],
)
def test_interior_maxima_in_exact_rationals(
    n: int, draws: int, growth: Fraction, ends: str, inside: str
) -> None:
    """Statement 6: exact, by code that shares nothing with the library."""
    delta = deltas(n, draws, growth)
    assert not is_valley(delta)
    values = line(delta, F(2, 5), F(3, 5))
    assert values[n // 2] == max(values) > values[0] == values[n]
    for value, printed in ((values[0], ends), (max(values), inside)):
        assert abs(value - F(printed)) <= F(1, 2 * 10**12)
    nine = deltas(9, 3, F(101, 100))
    assert (nine[3], nine[4]) == (F(1481, 8400), F(261, 1400))


def test_an_interior_maximum_of_three_values() -> None:
    """Statement 6, n = 1500: two draws in closed form, and convolved windows.

    Windows of 11 standard deviations lose less than 1e-20, and the roundings of a Fourier
    transform of numbers that sum to 1 are below 1e-12 of delta's cap: far less than .17%.
    """
    n, epsilon = 1500, F(143, 150_000)
    growth = math.exp(epsilon)
    reach = 440
    x, y = np.meshgrid(np.arange(n + 1.0), np.arange(n + 1.0), indexing="ij")
    z = n - x - y

    def one_way(a: FloatArray, b: FloatArray) -> FloatArray:
        excess = growth - 1
        value: FloatArray = (a - 1) * np.maximum(2 - excess * (a - 2), 0)
        value += 2 * (n - a - b) * np.maximum(1 - excess * (a - 1), 0)
        value += 2 * np.maximum(b + 1 - a - excess * (a - 1) * (b + 1), 0)
        return value

    pairs = [(a, b) for a in (x, y, z) for b in (x, y, z) if a is not b]
    delta = np.maximum.reduce([one_way(a, b) for a, b in pairs])
    delta = np.maximum(delta, np.maximum.reduce([one_way(b + 1, a - 1) for a, b in pairs]))
    delta /= n * (n - 1)

    def law(k: int, p: float, q: float) -> tuple[FloatArray, int, int]:
        """The first two counts of k records: from where, and a window of probabilities."""
        low_a, low_b = max(0, int(k * p) - reach // 2), max(0, int(k * q) - reach // 2)
        a, b = np.meshgrid(low_a + np.arange(reach), low_b + np.arange(reach), indexing="ij")
        logs = np.array([math.lgamma(i + 1) for i in range(n + 2 * reach)])
        left = np.maximum(k - a - b, 0)
        log_p = logs[k] - logs[a] - logs[b] - logs[left]
        log_p = log_p + a * math.log(p) + b * math.log(q) + left * math.log(1 - p - q)
        return np.where(a + b <= k, np.exp(log_p), 0.0), low_a, low_b

    p, q = 37 / 143, 49 / 143
    end, low_a, low_b = law(n, p, q)
    at_end = float((end * delta[low_a : low_a + reach, low_b : low_b + reach]).sum())
    (first, a1, b1), (second, a2, b2) = law(n // 2, p, q), law(n // 2, q, p)
    size = (2 * reach, 2 * reach)
    both = np.fft.irfft2(np.fft.rfft2(first, size) * np.fft.rfft2(second, size), size)
    inside = delta[a1 + a2 : a1 + a2 + 2 * reach, b1 + b2 : b1 + b2 + 2 * reach]
    at_middle = float((both[: inside.shape[0], : inside.shape[1]] * inside).sum())
    assert end.sum() == pytest.approx(1, abs=1e-10)
    assert both.sum() == pytest.approx(1, abs=1e-10)
    assert at_end == pytest.approx(6.17173706e-4, rel=1e-8)
    assert at_middle == pytest.approx(6.18222166e-4, rel=1e-8)
    assert at_middle > 1.0016 * at_end


@pytest.mark.parametrize("growth", [*GROWTHS, F(10**6)])
def test_a_value_of_which_nothing_is_lost(growth: Fraction) -> None:
    """Statement 7, two and three values; met for large growth where a value is rare."""
    for n, draws in [(4, 1), (5, 3), (5, 5)]:
        for vertex in [(F(1, 3), F(2, 3)), (F(1, 10), F(9, 10)), (F(1, 5), F(2, 5), F(2, 5))]:
            truth = mean(delta_of(len(vertex), draws, growth), (n,), [vertex])
            bounds = []
            for p in vertex:
                absent = 1 - p
                bounds.append(absent ** (n - draws) - (1 - F(draws, n)) * absent**n)
            assert max(bounds) <= truth
            if growth == 10**6 and len(vertex) == 2:
                # Nothing else is left: delta is the larger of "nothing of a lost" and of b.
                assert truth <= sum(bounds)
    # Falling in the probability: the least one is best.
    curve = [(1 - F(k, 20)) ** 2 - F(2, 5) * (1 - F(k, 20)) ** 5 for k in range(21)]
    assert all(a >= b for a, b in pairwise(curve))


@pytest.mark.parametrize("growth", [F(11, 10), F(2)])
def test_the_rarest_value(growth: Fraction) -> None:
    """Statement 8: both sides, every composition, every c and every choice of the category."""
    n, m, draws = 7, 3, 4
    vertices = [(F(1, 5), F(3, 10), F(1, 2)), (F(2, 5), F(3, 10), F(3, 10))]
    delta = delta_of(m, draws, growth)
    two = deltas(n, draws, growth)
    values = {counts: delta(counts) for counts in every_count(n, m)}
    least = [min(shares) for shares in zip(*vertices, strict=True)]
    laws = [[math.comb(n, h) * p**h * (1 - p) ** (n - h) for h in range(n + 1)] for p in least]
    fits = []
    for counts in every_count(n, m):
        one, second = sorted(counts)[:2]
        fits.append((one, second, values[counts]))
    for k in [(n, 0), (0, n), (3, 4)]:
        exact = mean(values.__getitem__, k, vertices)
        for a in range(m):
            merged = line(two, vertices[0][a], vertices[1][a])[k[0]]
            assert merged <= exact
        for c in range(5):
            w = [
                max(
                    (d for one, second, d in fits if one >= h and second >= max(h, c)), default=F(0)
                )
                for h in range(n + 1)
            ]
            for h, value in enumerate(w):
                s = min(h, n // 3)
                t = max(s, min(max(h, c), (n - s) // 2))
                assert value <= delta((s, t, n - s - t))
            main = sum((p * v for law in laws for p, v in zip(law, w, strict=True)), F(0))
            for rarest in range(m):
                tails = sum((sum(laws[b][:c], F(0)) for b in range(m) if b != rarest), F(0))
                assert exact <= main + F(draws, n) * tails
            if c > n // 2:
                # No database has two such counts: without the tails it would say 0.
                assert main == 0 < exact


def test_databases_drawn_where_delta_is_large() -> None:
    """Statement 12, with V(min(h, c), c) for W, every cut g, and what is left out."""
    n, draws, growth = 8, 4, F(3, 2)
    vertex = (F(1, 6), F(1, 3), F(1, 2))
    delta = delta_of(3, draws, growth)
    exact = mean(delta, (n,), [vertex])
    for c, cut in product((1, 2), (2, 4, n)):

        def cap(h: int, c: int = c) -> Fraction:
            low = min(h, c)
            return delta((low, c, n - low - c))

        inside = beyond = F(0)
        for counts in every_count(n, 3):
            h, mass = counts[0], chance(counts, vertex)
            if min(counts[1:]) >= c:
                assert delta(counts) <= cap(h)
                if h <= cut:
                    inside += mass * delta(counts)
            if h > cut:
                beyond += mass * cap(h)
        missing = F(0)
        for p in vertex[1:]:
            tail = (math.comb(n, h) * p**h * (1 - p) ** (n - h) for h in range(c))
            missing += sum(tail, F(0))
        assert inside < exact <= inside + beyond + F(draws, n) * missing
    # A value that nobody has: the cap.
    assert mean(delta, (n,), [(F(0), F(1, 3), F(2, 3))]) == F(draws, n)


def test_strata() -> None:
    """Statement 9: the larger of two strata at every pair of tables, and the bracket of means."""
    growth, sizes, draws = F(3, 2), (3, 4), (1, 2)
    parts = [deltas(n, k, growth) for n, k in zip(sizes, draws, strict=True)]
    for first, second in product(range(4), range(5)):
        tables = ((first, 3 - first), (second, 4 - second))

        def joint(pair: tuple[Counts, Counts]) -> dict[tuple[Counts, Counts], Fraction]:
            laws = [
                oracles.law_without_replacement(oracles.database(c), 2, k)
                for c, k in zip(pair, draws, strict=True)
            ]
            return {(g, h): p * q for g, p in laws[0].items() for h, q in laws[1].items()}

        here, worst = joint(tables), F(0)
        for stratum in range(2):
            h, other = tables[stratum]
            for moved in ((h - 1, other + 1), (h + 1, other - 1)):
                if min(moved) >= 0:
                    there = joint((moved, tables[1]) if stratum == 0 else (tables[0], moved))
                    for p, q in ((here, there), (there, here)):
                        worst = max(worst, oracles.hockey_stick(p, q, growth))
        assert worst == max(parts[0][first], parts[1][second])
    half = [[math.comb(n, h) * F(1, 2) ** n for h in range(n + 1)] for n in sizes]
    means = [
        sum((a * b for a, b in zip(law, f, strict=True)), F(0))
        for law, f in zip(half, parts, strict=True)
    ]
    both = sum(
        half[0][a] * half[1][b] * max(parts[0][a], parts[1][b])
        for a, b in product(range(4), range(5))
    )
    assert max(means) < both < sum(means)


def test_where_delta_is_zero() -> None:
    """Statement 10, ties of the condition included: growth 2 and T = 1 need counts of 2."""
    seen = set()
    for growth in (F(1), F(3, 2), F(2), F(3), F(100)):
        for n, m, draws in [(6, 2, 1), (6, 2, 2), (7, 2, 3), (6, 3, 1), (7, 3, 2), (5, 2, 5)]:
            delta = delta_of(m, draws, growth)
            for counts in every_count(n, m):
                zero = min(counts) * (1 - 1 / growth) >= draws
                assert (delta(counts) == 0) == zero
                seen.add(zero)
    assert seen == {True, False}
    assert delta_of(2, 1, F(2))((2, 3)) == 0 < delta_of(2, 1, F(199, 100))((2, 3))


def relative_entropy(c: float, r: float) -> float:
    return c * math.log(c / r) + (1 - c) * math.log((1 - c) / (1 - r))


def with_replacement(draws: int) -> Callable[[oracles.Database], oracles.Law]:
    return lambda x: oracles.law_with_replacement(x, 2, draws)


@pytest.mark.parametrize("growth", [F(3, 2), F(3), F(20)])
def test_bounds_by_tails(growth: Fraction) -> None:
    """Statement 11 at every database of up to 40 records of two values."""
    e = math.log(growth)
    tight = 0.0
    for n, draws in [(12, 3), (40, 8), (40, 36), (30, 15)]:
        truth = [float(d) for d in deltas(n, draws, growth)]
        r = 1 - draws / n
        c = r * math.exp(-e / 2)
        g = c * float(growth)
        for h in range(n + 1):
            counts = (h, n - h)
            if 1 / growth < r:
                rate = relative_entropy(float(1 / growth), r)
                bound = max(math.exp(-rate * max(1, x)) for x in counts)
                assert truth[h] <= bound * (1 + 1e-12)
                tight = max(tight, truth[h] / bound)
            low = relative_entropy(c, r)
            bound = sum(math.exp(-low * x) for x in counts)
            if g < 1:
                rho = relative_entropy(g, r)
                bound += sum(g / r * math.exp(-rho * x) for x in counts)
            assert truth[h] <= bound * (1 + 1e-12)
        for a, d in enumerate(sticks(n, draws, growth)[1:], 1):
            b = n - a
            first, theta = math.exp(-low * a), (g * (b + 1) - 1) / b if b else 0.0
            if g < 1:
                rest = g / r * math.exp(-relative_entropy(g, r) * (b + 1))
                assert float(d) <= (first + rest) * (1 + 1e-12)
            if theta >= r:
                rest = math.exp(-relative_entropy(theta, r) * b) if theta < 1 else 0.0
                assert float(d) <= (first + rest) * (1 + 1e-12)
        # (v): the two-sided bound of the expectation, and without the factor it fails.
        p = F(1, 4)
        law = [math.comb(n, h) * p**h * (1 - p) ** (n - h) for h in range(n + 1)]
        exact = sum(float(w) * d for w, d in zip(law, truth, strict=True))
        assert exact >= draws / n * float(p**n + (1 - p) ** n) * (1 - 1e-12)
        least = draws / (1 - 1 / growth)
        upper = 0.0
        for share in (p, 1 - p):
            tail = sum(
                float(math.comb(n, h) * share**h * (1 - share) ** (n - h))
                for h in range(n + 1)
                if h < least
            )
            w = 1.0
            if 1 / growth < r:
                kappa = relative_entropy(float(1 / growth), r)
                w = (1 - float(share) * -math.expm1(-kappa)) ** n
            upper += min(draws / n * tail, w)
        assert exact <= upper * (1 + 1e-12)
    assert growth > 10 or tight > 1e-3
    for n, draws in [(4, 2), (4, 3)]:
        mu = draws / n
        for split in (0.3, 0.7):
            x0 = mu - e * split
            if x0 <= 0:
                continue
            y0 = x0 + e
            below, above = (z * math.log(z / mu) - z + mu for z in (x0, y0))
            for pair in every_count(n, 2):
                x = oracles.database(pair)
                delta = oracles.delta_by_enumeration(x, 2, with_replacement(draws), growth)
                bound = sum(
                    math.exp(y0 * math.log(y0 / mu) - above * count)
                    + math.exp(mu - x0 - below * count)
                    for count in pair
                )
                assert float(delta) <= bound * (1 + 1e-12)
