"""Each statement of docs/proofs/hypergeometric-bounds.md, by enumeration in exact rationals."""

from __future__ import annotations

import math
import random
from fractions import Fraction
from itertools import product

import pytest

import smoothdp as sd
from smoothdp import paper_bounds as pb
from smoothdp.claims.model.model import DataModel
from smoothdp.testing.oracles import database, delta_by_enumeration, law_with_replacement

F = Fraction


def law(counts: tuple[int, ...], draws: int) -> dict[tuple[int, ...], Fraction]:
    """The law of the sampled histogram, without replacement."""
    every = math.comb(sum(counts), draws)
    return {
        h: F(math.prod(map(math.comb, counts, h)), every)
        for h in product(*(range(c + 1) for c in counts))
        if sum(h) == draws
    }


def delta(counts: tuple[int, ...], draws: int, growth: Fraction) -> Fraction:
    """The largest hockey stick over every neighbour and both directions."""
    here, largest = law(counts, draws), F(0)
    for a, b in product(range(len(counts)), repeat=2):
        if a == b or not counts[a]:
            continue
        there = law(tuple(c - (i == a) + (i == b) for i, c in enumerate(counts)), draws)
        for p, q in ((here, there), (there, here)):
            stick = sum((max(F(0), v - growth * q.get(h, F(0))) for h, v in p.items()), F(0))
            largest = max(largest, stick)
    return largest


def marked(n: int, draws: int, size: int) -> list[Fraction]:
    """Probabilities of how many of ``size`` marked records are drawn."""
    return [
        F(math.comb(size, h) * math.comb(n - size, draws - h), math.comb(n, draws))
        if draws >= h
        else F(0)
        for h in range(size + 1)
    ]


def kl(a: float, b: float) -> float:
    first = a * math.log(a / b) if a else 0.0
    return first + ((1 - a) * math.log((1 - a) / (1 - b)) if a < 1 else 0.0)


def test_hoeffding_comparison() -> None:
    """Factorial moments and E (1 + u)^h."""
    for n in range(2, 9):
        for draws, size in product(range(1, n + 1), range(1, n + 1)):
            probabilities, eta = marked(n, draws, size), F(draws, n)
            for j in range(size + 1):
                moment = sum((p * math.comb(h, j) for h, p in enumerate(probabilities)), F(0))
                assert moment <= math.comb(size, j) * eta**j
            for u in (F(1, 3), F(1), F(7)):
                moment = sum((p * (1 + u) ** h for h, p in enumerate(probabilities)), F(0))
                assert moment <= (1 + u * eta) ** size
    # With a smaller rate, 2/5 for 2/4, it is false.
    assert sum(p * 4**h for h, p in enumerate(marked(4, 2, 1))) > 1 + 3 * F(2, 5)


def test_tails() -> None:
    for n in range(2, 10):
        for draws, size in product(range(1, n), range(1, n + 1)):
            probabilities, eta = marked(n, draws, size), draws / n
            for least in range(size + 1):
                theta = least / size
                tail = float(sum(probabilities[least:]))
                if theta >= eta:
                    assert tail <= math.exp(-size * kl(theta, eta)) * (1 + 1e-12)
                below = float(sum(probabilities[: size - least + 1]))  # l >= least
                if theta >= 1 - eta:
                    assert below <= math.exp(-size * kl(theta, 1 - eta)) * (1 + 1e-12)
    # Below the mean the form is false: Pr[h >= 0] = 1.
    assert math.exp(-5 * kl(0.0, 0.5)) < 1


GROWTHS = (F(21, 20), F(3, 2), F(3), F(40))


@pytest.mark.parametrize("n", [4, 7, 9])
def test_bounds_at_every_small_database(n: int) -> None:
    """Statements 3, 5, 6: every database of n records, 2 and 3 categories, T and epsilon."""
    used = 0
    for m in (2, 3):
        for counts in product(range(n + 1), repeat=m):
            if sum(counts) != n or list(counts) != sorted(counts):
                continue
            for draws, growth in product(range(1, n + 1), GROWTHS):
                truth = delta(counts, draws, growth)
                epsilon = f"ln({growth})"
                assert truth <= pb.liu_kl_upper(counts=counts, n_draws=draws, epsilon=epsilon)
                upper = pb.liu_all_epsilon_upper(counts=counts, n_draws=draws, epsilon=epsilon)
                assert truth <= upper
                used += upper < draws / n
                if draws == n:
                    continue
                # statement 6, at this database
                least, missed, root = min(counts), 1 - draws / n, math.sqrt(growth)
                simple = math.exp(-least * kl(missed / root, missed))
                if missed * root < 1:
                    simple += root * math.exp(-least * kl(missed * root, missed))
                assert float(truth) <= simple * (1 + 1e-12)
    assert used > 0 or n < 9


def test_moments_of_the_smallest_count() -> None:
    """Statement 4 (i) for every composition of two vertices; the smaller corner would not do."""
    n, share = 5, F(1, 2)  # e^-kappa
    vertices = ((F(1, 5), F(3, 10), F(1, 2)), (F(2, 3), F(1, 6), F(1, 6)))
    bounds = [sum((1 - p * (1 - share)) ** n for p in vertex) for vertex in vertices]
    largest = F(0)
    for first in range(n + 1):
        rows = [vertices[0]] * first + [vertices[1]] * (n - first)
        total = F(0)
        for x in product(range(3), repeat=n):
            weight = math.prod((row[c] for row, c in zip(rows, x, strict=True)), start=F(1))
            total += weight * share ** min(x.count(c) for c in range(3))
        sums = sum(
            (math.prod((1 - r[c] * (1 - share) for r in rows), start=F(1)) for c in range(3)), F(0)
        )
        assert total <= sums <= max(bounds)
        largest = max(largest, sums)
    assert min(bounds) < largest == max(bounds)


def test_lower_bounds_by_enumeration() -> None:
    """Statement 8, exactly, for one distribution: below E delta, and (iii) above it at E = n."""
    n, row = 6, (F(1, 4), F(3, 4))
    for draws in range(1, n + 1):
        eta = F(draws, n)
        terms = [(1 - p) ** (n - draws) - (1 - eta) * (1 - p) ** n for p in row]
        for growth in (F(1), F(2), F(n), F(100)):
            mean = sum(
                (
                    math.comb(n, k)
                    * row[0] ** k
                    * row[1] ** (n - k)
                    * delta((k, n - k), draws, growth)
                    for k in range(n + 1)
                ),
                F(0),
            )
            assert terms[0] <= mean
            assert mean <= sum(terms) or growth < n
        model = DataModel([("1/4", "3/4")])
        found = pb.liu_exact_lower(n_records=n, n_draws=draws, model=model)
        assert F(found) <= terms[0] <= F(found) * (1 + F(1, 10**12))
        assert eta * row[0] ** n <= terms[0]
    # f must be the probability of some category: for f = 0 the bound is above the truth.
    assert F(pb.liu_exact_lower(n_records=6, n_draws=3, smallest_probability=0)) > F(49, 100)


def test_remark_8_by_the_hand_computation() -> None:
    growth, n = F(10000, 9801), 200

    def at_two(count: int) -> Fraction:
        return F((count - 1) * (2 * growth - (growth - 1) * count), n * (n - 1))

    values = [at_two(count) for count in range(50, 101)]
    assert min(values) == min(values[0], values[-1]) == values[-1]
    assert F(253, 10**7) < values[-1]
    inside = sum(F(math.comb(n, k), 2**n) for k in range(50, 151))
    assert inside > F(98, 100)
    printed = pb.liu_remark_8(
        n_records=n, n_draws=2, epsilon="ln(10000/9801)", smallest_probability="1/2", n_categories=2
    )
    assert F(24, 10**6) > 3 * F(printed)
    mechanism = sd.SamplingHistogram(n, n_draws=2)
    for count in (50, 77, 100):
        assert mechanism.delta((count, n - count), epsilon="ln(10000/9801)") >= at_two(count)


def test_ordinary_privacy_with_replacement() -> None:
    for n, draws in product((2, 3, 10, 57), range(1, 40)):
        exact = 1 - (1 - F(1, n)) ** draws
        assert exact >= F(draws, n + draws)
        assert (exact < F(draws, n + 1)) == (draws >= 3)
    for draws in (1, 3):  # (i), one record alone: every database of 3 records
        counts = [c for c in product(range(4), repeat=2) if sum(c) == 3]
        for growth in (F(1), F(5)):
            worst = max(with_replacement(c, draws, growth) for c in counts)
            assert worst == 1 - (1 - F(1, 3)) ** draws


def with_replacement(counts: tuple[int, ...], draws: int, growth: Fraction) -> Fraction:
    m = len(counts)
    return delta_by_enumeration(
        database(counts), m, lambda x: law_with_replacement(x, m, draws), growth
    )


def test_with_replacement_at_every_small_database() -> None:
    used = 0
    for n, draws in ((6, 1), (9, 2), (12, 2), (5, 4)):
        for growth in (F(2719, 1000), F(4)):  # epsilon a little above 1
            for first in range(n + 1):
                counts = (first, n - first)
                truth = with_replacement(counts, draws, growth)
                simple = (math.e * draws / n) ** max(1, min(counts))
                if math.e * draws <= n:
                    assert float(truth) <= simple
                bound = pb.liu_theorem_5_upper(
                    counts=counts, n_draws=draws, epsilon=f"ln({growth})"
                )
                assert truth <= F(bound)
                used += bound < float(1 - (1 - F(1, n)) ** draws) * 0.99
    assert used > 10
    # (iii): at epsilon = 2 T / n the bound is false; e^(.2) < 1.2215.
    n, draws, growth = 100, 10, F(12215, 10000)
    total = F(0)
    for h in range(draws + 1):
        p = F(5, n) ** h * F(95, n) ** (draws - h)
        q = F(4, n) ** h * F(96, n) ** (draws - h)
        total += math.comb(draws, h) * max(F(0), p - growth * q)
    assert total > F(145, 10**4) > 6 * F((math.e / 10) ** 5 / (1 - math.e / 10))


def stick(p: list[Fraction], q: list[Fraction], growth: Fraction) -> Fraction:
    return sum((max(F(0), a - growth * b) for a, b in zip(p, q, strict=True)), F(0))


def random_laws(rng: random.Random, m: int) -> list[list[Fraction]]:
    laws = []
    for _ in range(m):
        weights = [rng.choice([0, 0, 1, 2, 9, 400]) for _ in range(m + 1)] + [rng.choice([1, 60])]
        laws.append([F(w, sum(weights)) for w in weights])
    return laws


def test_far_ratios() -> None:
    rng, nearest = random.Random(43), F(0)
    for _ in range(3000):
        growth = rng.choice([F(1), F(11, 10), F(2)])
        p, q = random_laws(rng, 2)
        delta = max(stick(p, q, growth), stick(q, p, growth))
        far = sum(
            (a for a, b in zip(p, q, strict=True) if a > 2 * growth * b or 2 * growth * a < b), F(0)
        )
        assert far <= (2 + 1 / growth) * delta
        nearest = max(nearest, far / delta if delta else F(0))
    assert nearest > F(1, 2)
    p, q = [F(2000), F(904), F(7096)], [F(904), F(2000), F(7096)]
    growth = F(110518, 100000)  # a little above e^.1: both ratios are still beyond 2E
    delta = stick(p, q, growth) / 10**4
    assert delta == stick(q, p, growth) / 10**4
    assert p[0] > 2 * growth * q[0]
    assert (p[0] + p[1]) / 10**4 > 2 * delta
