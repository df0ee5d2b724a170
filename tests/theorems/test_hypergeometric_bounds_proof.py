"""Each statement of docs/proofs/hypergeometric-bounds.md, by enumeration in exact rationals."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import pytest

import smoothdp as sd
from smoothdp import paper_bounds as pb
from smoothdp.claims.model.model import DataModel

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
        sums = sum(math.prod((1 - r[c] * (1 - share) for r in rows), start=F(1)) for c in range(3))
        assert total <= sums <= max(bounds)
        largest = max(largest, sums)
    assert min(bounds) < largest == max(bounds)


def test_zero_delta() -> None:
    seen = 0
    for n, draws in ((6, 1), (8, 2), (9, 3)):
        for growth in (F(2), F(3), F(6)):
            for first in range(1, n):
                counts = (first, n - first)
                truth = delta(counts, draws, growth)
                if min(counts) >= draws / (1 - 1 / growth):
                    assert truth == 0
                    seen += 1
    assert seen > 10
    assert delta((1, 5), 1, F(2)) > 0  # one record less than 1/(1 - 1/2)


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
