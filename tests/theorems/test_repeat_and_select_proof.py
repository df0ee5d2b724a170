"""proofs/repeat-and-select: the best of a random number of runs, by enumeration."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest

import smoothdp as sd
from smoothdp.exact.balls.balls import ball
from smoothdp.exact.random.entropy import SeededRandom
from smoothdp.exact.random.walked import walked

Law = tuple[Fraction, ...]
Generating = Callable[[float], float]
InBig = Callable[[Any], Any]


def fractions(*counts: int) -> Law:
    return tuple(Fraction(count, sum(counts)) for count in counts)


# f(s) of each law, written anew.
COUNTS: list[tuple[sd.selection.RunCount, Generating]] = [
    (sd.PoissonCount(3), lambda s: math.exp(3 * (s - 1))),
    (
        sd.NegativeBinomialCount(1, stop="0.1"),
        lambda s: 0.1 * s / (1 - 0.9 * s),
    ),
    (
        sd.NegativeBinomialCount(0, stop="0.05"),
        lambda s: math.log1p(-0.95 * s) / math.log(0.05),
    ),
    (
        sd.NegativeBinomialCount("-1/2", stop="0.1"),
        lambda s: ((1 - 0.9 * s) ** 0.5 - 1) / (0.1**0.5 - 1),
    ),
    (sd.FixedCount(2), lambda s: s**2),
    (sd.FixedCount(5), lambda s: s**5),
]
BASES = [
    (fractions(3, 1), fractions(1, 3)),
    (fractions(6, 3, 1), fractions(2, 3, 5)),
    (fractions(5, 4, 0), fractions(3, 3, 3)),
]


def weak_orders(n: int) -> Iterator[list[tuple[int, ...]]]:
    """Every order of n outputs with ties, the worst first."""
    for levels in itertools.product(range(n), repeat=n):
        if set(levels) == set(range(max(levels) + 1)):
            yield [
                tuple(i for i in range(n) if levels[i] == level) for level in range(max(levels) + 1)
            ]


def best_law(f: Generating, law: Law, order: list[tuple[int, ...]]) -> list[float]:
    """The law of the best run: statement 1 (i), of tied outputs each by its share."""
    found, worse = [0.0] * len(law), Fraction(0)
    for group in order:
        mass = sum((law[i] for i in group), Fraction(0))
        if mass:
            rise = f(float(worse + mass)) - f(float(worse))
            for i in group:
                found[i] = rise * float(law[i] / mass)
        worse += mass
    return found


def excess(first: list[float], second: list[float], growth: float) -> float:
    return sum(max(p - growth * q, 0.0) for p, q in zip(first, second, strict=True))


def test_the_law_of_the_best_run() -> None:
    """Literally: all outputs of up to three runs, the first of the best is published."""
    counts = {0: Fraction(1, 5), 1: Fraction(3, 10), 3: Fraction(1, 2)}
    law, scores = fractions(2, 3, 1, 4), (1, 0, 1, 2)
    literal = [Fraction(0)] * 4
    for k, chance in counts.items():
        for runs in itertools.product(range(4), repeat=k):
            mass = chance * math.prod((law[i] for i in runs), start=Fraction(1))
            if runs:
                literal[max(runs, key=lambda i: scores[i])] += mass
    exact = best_law(lambda s: 0.2 + 0.3 * s + 0.5 * s**3, law, [(1,), (0, 2), (3,)])
    assert exact == pytest.approx([float(x) for x in literal], rel=1e-12)
    # Another order is another law.
    other = best_law(lambda s: 0.2 + 0.3 * s + 0.5 * s**3, law, [(3,), (0, 2), (1,)])
    assert other != pytest.approx(exact, rel=1e-2)


def pair(p: Law, q: Law) -> sd.Pair:
    with np.errstate(divide="ignore"):
        return sd.Pair(np.log([float(x) for x in p]), np.log([float(x) for x in q]))


def worst(f: Generating, p: Law, q: Law, growth: float) -> float:
    return max(
        excess(best_law(f, a, order), best_law(f, b, order), growth)
        for order in weak_orders(len(p))
        for a, b in ((p, q), (q, p))
    )


def within(bases: list[tuple[Law, Law]], epsilons: tuple[float, ...]) -> list[float]:
    """Check every order of every base; return the truth as a share of the bound."""
    shares = []
    for p, q in bases:
        for count, f in COUNTS:
            profile = sd.BestOf(pair(p, q), count=count).profile()
            for epsilon in epsilons:
                truth = worst(f, p, q, math.exp(epsilon))
                lower, upper = profile.delta_bounds(epsilon)
                assert lower <= upper
                assert truth <= upper * (1 + 1e-9) + 1e-14, (p, q, count, epsilon)
                shares.append(truth / max(upper, 1e-300) if truth > 1e-12 else 0.0)
    return shares


def test_every_order_of_tiny_laws_is_within() -> None:
    shares = within(BASES[1:2], (0.0, 0.7))
    # The bound is not a loose one: an order of three outputs nearly reaches it.
    assert max(shares) > 0.98
    # Without the shifts, E[K] D(E) is no bound.
    p, q = BASES[0]
    growth = math.exp(1.3)
    assert worst(COUNTS[0][1], p, q, growth) > 3 * max(0.0, 0.75 - growth * 0.25)


@pytest.mark.slow
def test_every_order_of_many_tiny_laws_is_within() -> None:
    rng = np.random.default_rng(25)
    bases = list(BASES)
    for size in (2, 3, 3, 4):
        first, second = (fractions(*rng.integers(1, 20, size).tolist()) for _ in range(2))
        bases.append((first, second))
    assert max(within(bases, (0.0, 0.1, 0.4, 1.0, 2.0))) > 0.99


def nested_bound(p: list[float], q: list[float], f1: Generating, growth: float) -> float:
    """Statement 3 for cells in order of falling ratio, from above by corners of cells."""
    above = np.concatenate([[0.0], np.cumsum(p)]), np.concatenate([[0.0], np.cumsum(q)])
    total = 0.0
    for i in range(len(p)):
        best = 0.0
        for j in range(i, len(p)):
            u = float(above[0][j + 1] - above[0][i])
            v = max(0.0, float(above[1][j] - above[1][i + 1]))
            best = max(best, f1(u) * p[i] - growth * f1(v) * q[i])
        total += best
    return total


def test_nested_intervals_exactly() -> None:
    """Random orders of pieces, and random events, stay below; nested intervals come close."""
    rng = np.random.default_rng(3)
    n = 20
    p = [0.6 / n] * n + [0.3 / n] * n + [0.1 / n] * n
    q = [0.2 / n] * n + [0.3 / n] * n + [0.5 / n] * n
    f: Generating = lambda s: s**4  # noqa: E731
    growth = 1.5
    bound = nested_bound(p, q, lambda s: 4 * s**3, growth)

    def cost(order: list[int]) -> float:
        u = v = total = 0.0
        for i in order:
            gain = f(u + p[i]) - f(u) - growth * (f(v + q[i]) - f(v))
            total += max(gain, 0.0)
            u, v = u + p[i], v + q[i]
        return total

    randoms = [cost(rng.permutation(3 * n).tolist()) for _ in range(200)]
    # The middle cells first, then the likeliest, then the rest: an interval that grows.
    grown = cost([*range(n, 2 * n), *range(n - 1, -1, -1), *range(2 * n, 3 * n)])
    assert max(randoms) < grown <= bound < 1.15 * grown


def test_laws_of_the_number_of_runs() -> None:
    mpmath.mp.dps = 40
    g, h = mpmath.mpf("0.1"), mpmath.mpf("2.5")
    laws: list[tuple[sd.selection.RunCount, InBig]] = [
        (sd.PoissonCount("2.5"), lambda s: mpmath.exp(h * (s - 1))),
        (
            sd.NegativeBinomialCount("2.5", stop="0.1"),
            lambda s: ((1 - (1 - g) * s) ** -h - 1) / (g**-h - 1),
        ),
        (
            sd.NegativeBinomialCount(0, stop="0.1"),
            lambda s: mpmath.log(1 - (1 - g) * s) / mpmath.log(g),
        ),
        (sd.FixedCount(4), lambda s: s**4),
        (sd.FixedCount(3), lambda s: s**3),
    ]
    worse = np.array([0.0, 1e-9, 0.125, 0.5, 0.875])
    for count, f in laws:
        mean = mpmath.diff(f, 1)
        logs, error = count.log_weights(worse)
        bends = count.log_bends(worse)
        for w, log, slip, bend in zip(worse, logs, error, bends, strict=True):
            assert abs(log - mpmath.log(mpmath.diff(f, 1 - w) / mean)) <= slip + 1e-15
            assert mpmath.almosteq(mpmath.exp(bend), mpmath.diff(f, 1 - w, 3) / mean, 1e-9)
        assert count.log_mean.lower <= mpmath.log(mean) <= count.log_mean.upper
        some = mpmath.log(1 - f(mpmath.mpf(0)))
        assert count.log_some.lower <= some <= count.log_some.upper
        # The masses are the coefficients of f.
        series = mpmath.taylor(f, 0, 6)
        for k, mass in itertools.islice(count._masses(), 6):
            if k <= 6:
                assert abs(float(mass) - float(series[k])) < 1e-12


def test_pure_claims() -> None:
    """Statement 2 (iv): nothing beyond, and something just before it."""
    mpmath.mp.dps = 60
    one = mpmath.mpf(1)
    high, low = mpmath.e / (1 + mpmath.e), 1 / (1 + mpmath.e)
    cases: list[tuple[sd.selection.RunCount, InBig, float]] = [
        (sd.PoissonCount(10), lambda s: mpmath.exp(10 * (s - 1)), 1 + 10 * math.tanh(0.5)),
        (
            sd.NegativeBinomialCount(1, stop="0.1"),
            lambda s: s / 10 / (1 - s * 9 / 10),
            1 + 2 * math.log((math.e + 0.1) / (1 + 0.1 * math.e)),
        ),
        (sd.FixedCount(5), lambda s: s**5, 5.0),
    ]
    for count, f, expected in cases:
        assert count.pure_epsilon(1.0) == pytest.approx(expected, rel=1e-12)
        # A thin slice of the likely output, at its upper end.
        slice_ = mpmath.mpf("1e-9")
        growth = mpmath.exp(mpmath.mpf(expected) - mpmath.mpf("1e-6"))
        gain = f(high) - f(high - slice_ * high)
        loss = f(low) - f(low - slice_ * low)
        assert gain > growth * loss > gain * (one - mpmath.mpf("1e-5"))
    profile = sd.BestOf(sd.PureDP(1), count=cases[1][0]).profile()
    assert profile.epsilon(0) == pytest.approx(cases[1][2], abs=1e-9)


class Words:
    """Bits that are given beforehand."""

    is_private = False

    def __init__(self, *words: int) -> None:
        self.words = list(words)

    def bits(self, n: int) -> int:
        return self.words.pop(0) >> (64 - n if n < 64 else 0)

    def below(self, n: int) -> int:
        raise AssertionError(n)


def test_the_number_of_runs_has_its_law() -> None:
    thirds = lambda: iter([(1, ball(Fraction(1, 3))), (2, ball(Fraction(2, 3)))])  # noqa: E731
    third = (1 << 64) // 3
    assert walked(thirds, Words(third - 1)) == 1
    assert walked(thirds, Words(third + 1)) == 2
    # One third begins with this word: the next word decides.
    assert walked(thirds, Words(third, 0)) == 1
    assert walked(thirds, Words(third, (1 << 64) - 1)) == 2
    halves = lambda: iter([(4, ball(Fraction(1, 2))), (7, ball(Fraction(1, 2)))])  # noqa: E731
    assert [walked(halves, Words(word)) for word in (0, (1 << 63) - 1, 1 << 63)] == [4, 4, 7]

    def distance(count: sd.selection.RunCount, law: sd.selection.RunCount) -> float:
        """Pearson's statistic of 3000 draws against a law, of 20 cells."""
        rng, n = SeededRandom(25), 3000
        drawn = [count.draw(rng=rng) for _ in range(n)]
        found = 0.0
        masses = {k: float(mass) for k, mass in itertools.islice(law._masses(), 20)}
        for k, mass in masses.items():
            found += (drawn.count(k) - n * mass) ** 2 / (n * mass)
        return found

    # Chance of a false alarm below 1e-6: the statistic of 20 cells exceeds 75 with 3e-8.
    poisson, logarithmic = sd.PoissonCount(8), sd.NegativeBinomialCount(0, stop="0.05")
    assert distance(poisson, poisson) < 75 < distance(sd.PoissonCount("8.9"), poisson)
    assert distance(logarithmic, logarithmic) < 75
    assert distance(sd.NegativeBinomialCount("0.3", stop="0.05"), logarithmic) > 75


def test_what_cannot_be_left_out() -> None:
    # (i) An order that depends on the data: a fair bit is best as 1 here, as 0 there.
    bit = sd.BestOf(sd.PureDP("1e-9"), count=sd.FixedCount(2)).profile()
    assert bit.delta(0) < 1e-8 < Fraction(3, 4) - Fraction(1, 4)
    # (ii) and (iii): K, or all outputs, known: the second output three times, of ratio 27.
    response = sd.BestOf(sd.PureDP("ln(3)"), count=sd.NegativeBinomialCount(1, stop="0.1"))
    assert response.profile().delta("ln(18)") == 0.0
    k_is_three = Fraction(1, 10) * Fraction(9, 10) ** 2
    known = k_is_three * (Fraction(3, 4) ** 3 - 18 * Fraction(1, 4) ** 3)
    assert known > 0
