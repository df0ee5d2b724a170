"""Each statement of docs/proofs/two-smallest.md, by enumeration in exact rationals."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from itertools import product

import pytest

import smoothdp as sd
from smoothdp.testing.oracles import (
    database,
    delta_by_enumeration,
    hockey_stick,
    law_independent,
    law_with_replacement,
    law_without_replacement,
)

F = Fraction
Sample = tuple[int, ...]
Samples = Mapping[Sample, Fraction]
Sizes = tuple[int, int, int]
Triples = dict[Sizes, Fraction]
GROWTHS = (F(1), F(11, 10), F(2), F(5))
N = 6


def without(n: int, draws: int) -> Samples:
    """The law of M: every 0/1 vector of the sum T alike."""
    chosen = [m for m in product((0, 1), repeat=n) if sum(m) == draws]
    return {m: F(1, len(chosen)) for m in chosen}


def replacing(n: int, draws: int) -> Samples:
    law: dict[Sample, Fraction] = {}
    for drawn in product(range(n), repeat=draws):
        m = tuple(drawn.count(i) for i in range(n))
        law[m] = law.get(m, F(0)) + F(1, n**draws)
    return law


def kept(n: int, share: Fraction) -> Samples:
    return {m: share ** sum(m) * (1 - share) ** (n - sum(m)) for m in product((0, 1), repeat=n)}


SAMPLINGS: dict[str, Samples] = {
    "without, 1": without(N, 1),
    "without, 2": without(N, 2),
    "without, 5": without(N, 5),
    "with, 1": replacing(N, 1),
    "with, 3": replacing(N, 3),
    "kept": kept(N, F(2, 3)),
}
named = pytest.mark.parametrize("name", SAMPLINGS)


def triples(law: Samples, sizes: Sizes) -> Triples:
    """The law of (h_a, h_b, h_r): the first records are a's, then b's, then the others."""
    a, b, _ = sizes
    result: Triples = {}
    for m, mass in law.items():
        h = (sum(m[:a]), sum(m[a : a + b]), sum(m[a + b :]))
        result[h] = result.get(h, F(0)) + mass
    return result


def stick(law: Samples, a: int, b: int, growth: Fraction) -> Fraction:
    """D(a, b)."""
    rest = N - a - b
    return hockey_stick(triples(law, (a, b, rest)), triples(law, (a - 1, b + 1, rest)), growth)


def four(c1: int, c2: int) -> list[tuple[int, int]]:
    return [(c1, c2), (c2, c1), (c2 + 1, c1 - 1), (c1 + 1, c2 - 1)]


def inclusion(law: Samples) -> Fraction:
    return sum((mass for m, mass in law.items() if m[0]), F(0))


@named
def test_the_assumption(name: str) -> None:
    """Given the others and the sum inside, the law inside depends on size and sum alone."""
    law = SAMPLINGS[name]
    for size in range(1, N + 1):
        seen: dict[tuple[Sample, int], dict[Sample, Fraction]] = {}
        for m, mass in law.items():
            inside = seen.setdefault((m[size:], sum(m[:size])), {})
            inside[m[:size]] = mass
        laws: dict[int, dict[Sample, Fraction]] = {}
        for (_, total), masses in seen.items():
            norm = sum(masses.values())
            conditional = {m: mass / norm for m, mass in masses.items()}
            assert laws.setdefault(total, conditional) == conditional
            assert all(conditional[tuple(sorted(m))] == p for m, p in conditional.items())


@named
def test_the_relabelling(name: str) -> None:
    """Statement 3: one kernel takes both laws to those with one more record in the category."""
    law = SAMPLINGS[name]
    for rest in range(1, N):
        marked: dict[int, dict[int, Fraction]] = {}
        for m, mass in law.items():
            coin = marked.setdefault(sum(m[:rest]), {})
            coin[m[0]] = coin.get(m[0], F(0)) + mass

        def relabelled(p: Triples, to: int, coins: dict[int, dict[int, Fraction]]) -> Triples:
            result: Triples = {}
            for (i, j, r), mass in p.items():
                norm = sum(coins[r].values())
                for k, chance in coins[r].items():
                    h = (i + k, j, r - k) if to == 0 else (i, j + k, r - k)
                    result[h] = result.get(h, F(0)) + mass * chance / norm
            return result

        for a in range(1, N - rest + 1):
            b = N - rest - a
            for sizes in ((a, b, rest), (a - 1, b + 1, rest)):
                here = triples(law, sizes)
                to_a = (sizes[0] + 1, sizes[1], rest - 1)
                to_b = (sizes[0], sizes[1] + 1, rest - 1)
                assert relabelled(here, 0, marked) == triples(law, to_a)
                assert relabelled(here, 1, marked) == triples(law, to_b)


@named
def test_likelihood_ratios(name: str) -> None:
    """Statement 2: the ratio, the half-plane, and where delta no longer falls."""
    law = SAMPLINGS[name]
    for a, b in product(range(2, N), range(1, N)):
        if a + b > N:
            continue
        here = triples(law, (a, b, N - a - b))
        there = triples(law, (a - 1, b + 1, N - a - b))
        for (i, j, r), mass in here.items():
            other = there.get((i, j, r), F(0))
            if name.startswith("with,"):
                assert mass / other == F(a, a - 1) ** i * F(b, b + 1) ** j
                continue
            assert mass * (a - i) * (b + 1) == other * a * (b + 1 - j)
            assert other == 0 or mass / other <= a
            for growth in GROWTHS:
                gain = a * (b + 1 - j) - growth * (a - i) * (b + 1)
                assert max(mass - growth * other, 0) == mass * max(gain, F(0)) / (a * (b + 1 - j))
        if not name.startswith("with,"):
            all_of_a = sum(mass for (i, _, _), mass in here.items() if i == a)
            assert hockey_stick(here, there, F(a)) == hockey_stick(here, there, F(99)) == all_of_a


@named
def test_d_falls_in_both_counts(name: str) -> None:
    law = SAMPLINGS[name]
    for growth in GROWTHS:
        for a, b in product(range(1, N), range(N - 1)):
            if a + b < N:
                assert stick(law, a, b, growth) >= stick(law, a + 1, b, growth)
                assert stick(law, a, b, growth) >= stick(law, a, b + 1, growth)


@named
@pytest.mark.parametrize("m", [2, 3, 4])
def test_four_values_against_every_neighbour(name: str, m: int) -> None:
    """Statements 1, 4 to 7: delta(x) by definition, of every histogram."""
    law, q = SAMPLINGS[name], inclusion(SAMPLINGS[name])
    deltas: dict[tuple[int, int], Fraction] = {}
    for growth in (F(1), F(11, 10), F(5)):
        for counts in product(range(N + 1), repeat=m):
            if sum(counts) != N or tuple(sorted(counts)) != counts:
                continue
            truth = literal_delta(name, counts, growth)
            c1, c2 = counts[:2]
            if c1:
                assert truth == max(stick(law, *pair, growth) for pair in four(c1, c2))
            else:
                p = min(c for c in counts if c)
                assert truth == max(stick(law, p, 0, growth), stick(law, 1, p - 1, growth))
            one_drawn = name.endswith(", 1")
            assert truth <= q
            assert (truth == q) == (c1 <= 1 or (growth == 1 and one_drawn))
            deltas[c1, c2] = truth
        for (c1, c2), (d1, d2) in product(deltas, repeat=2):
            if c1 <= d1 and c2 <= d2:
                assert deltas[c1, c2] >= deltas[d1, d2]


def literal_delta(name: str, counts: tuple[int, ...], growth: Fraction) -> Fraction:
    m = len(counts)
    kind, _, draws = name.partition(", ")
    laws: dict[str, Callable[[Sample], Mapping[Sample, Fraction]]] = {
        "without": lambda x: law_without_replacement(x, m, int(draws)),
        "with": lambda x: law_with_replacement(x, m, int(draws)),
        "kept": lambda x: law_independent(x, m, F(2, 3)),
    }
    return delta_by_enumeration(database(counts), m, laws[kind], growth)


@pytest.mark.parametrize(
    ("counts", "draws", "growth", "values"),
    [
        ((2, 3), 1, "11/10", ("9/50", "4/25", "7/50", "4/25")),
        ((3, 5), 6, "11/10", ("5/14", "57/140", "97/280", "11/28")),
        ((2, 3), 2, "11/10", ("13/50", "19/100", "27/100", "19/100")),
        ((2, 5), 3, "3/2", ("1/7", "4/35", "1/7", "11/70")),
    ],
)
def test_none_of_the_four_can_be_left_out(
    counts: tuple[int, int], draws: int, growth: str, values: tuple[str, ...]
) -> None:
    """Statement 9 (i): each of the four is the only largest somewhere; the code takes it."""
    n = sum(counts)
    exact = []
    for a, b in four(*counts):
        here = law_without_replacement(database((a, b)), 2, draws)
        there = law_without_replacement(database((a - 1, b + 1)), 2, draws)
        exact.append(hockey_stick(here, there, F(growth)))
    assert exact == [F(value) for value in values]
    assert exact.count(max(exact)) == 1
    lower, upper = sd.SamplingHistogram(n, n_draws=draws).delta_bounds(
        counts, epsilon=f"ln({growth})"
    )
    assert F(lower) <= max(exact) <= F(upper)
    assert upper - lower < 1e-12


def test_a_function_of_the_histogram_breaks_the_rule() -> None:
    """Statement 9 (iii): only the third count is published; the two smallest say nothing of it."""
    counts, draws, growth = (2, 2, 3), 3, F(11, 10)

    def third(c: tuple[int, int, int]) -> dict[int, Fraction]:
        law = law_without_replacement(database(c), 3, draws)
        result: dict[int, Fraction] = {}
        for h, mass in law.items():
            result[h[2]] = result.get(h[2], F(0)) + mass
        return result

    assert third(counts) == third((1, 3, 3))
    assert hockey_stick(third(counts), third((2, 1, 4)), growth) > 0


def test_joint_releases() -> None:
    """Statement 8: two samples of the same records, against every pair and direction; the cap."""
    n, growth = 5, F(11, 10)
    first, second = without(n, 2), kept(n, F(1, 3))

    def joint(counts: Sample) -> dict[tuple[Sample, Sample], Fraction]:
        x = database(counts)

        def histograms(law: Samples) -> dict[Sample, Fraction]:
            result: dict[Sample, Fraction] = {}
            for m, mass in law.items():
                h = tuple(
                    sum(k for k, c in zip(m, x, strict=True) if c == category)
                    for category in range(len(counts))
                )
                result[h] = result.get(h, F(0)) + mass
            return result

        return {
            (g, h): p * r
            for (g, p), (h, r) in product(histograms(first).items(), histograms(second).items())
        }

    def of_pair(counts: Sample, a: int, b: int) -> Fraction:
        moved = list(counts)
        moved[a] -= 1
        moved[b] += 1
        here, there = joint(counts), joint(tuple(moved))
        return max(hockey_stick(here, there, growth), hockey_stick(there, here, growth))

    cap = 1 - (1 - inclusion(first)) * (1 - inclusion(second))
    for counts in ((1, 1, 3), (1, 2, 2), (0, 2, 3), (2, 3)):
        pairs = [(a, b) for a, b in product(range(len(counts)), repeat=2) if a != b and counts[a]]
        values = {(a, b): of_pair(counts, a, b) for a, b in pairs}
        smallest = [(0, 1), (1, 0)] if counts[0] else [(1, 0)]
        assert max(values.values()) == max(values[pair] for pair in smallest)
        assert max(values.values()) <= cap
        assert (max(values.values()) == cap) == (min(counts) <= 1)
    assert math.isclose(float(cap), 0.6)
