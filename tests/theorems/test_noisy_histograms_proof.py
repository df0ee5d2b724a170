"""Each statement of docs/proofs/noisy-histograms.md, in exact rationals on small cases."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import combinations, product

import pytest

from smoothdp.testing import oracles

F = Fraction
Counts = tuple[int, ...]
Law = dict[Counts, Fraction]
SUPPORTS = ("integers", "nonnegative")
WITHOUT, WITH = "without_replacement", "with_replacement"


def sampled(counts: Counts, draws: int, sampling: str = WITHOUT) -> oracles.Law:
    x, m = oracles.database(counts), len(counts)
    if sampling == WITH:
        return oracles.law_with_replacement(x, m, draws)
    return oracles.law_without_replacement(x, m, draws)


def normaliser(h: int, q: Fraction, support: str) -> Fraction:
    """The sum over z >= 0, and over z >= 1 or 1..h."""
    below = q / (1 - q) if support == "integers" else sum((q**z for z in range(1, h + 1)), F(0))
    return 1 / (1 - q) + below


def row(h: int, draws: int, q: Fraction, support: str, reach: int = 0) -> dict[int, Fraction]:
    """The law of one output, lumped from draws + reach on, and at -reach on the integers.

    Everything beyond is a geometric series, summed exactly.
    """
    top, low = draws + reach, -reach if support == "integers" else 0
    z = normaliser(h, q, support)
    law = {o: q ** abs(o - h) / z for o in range(low, top + 1)}
    law[top] = q ** (top - h) / (1 - q) / z
    if support == "integers":
        law[low] = q ** (h - low) / (1 - q) / z
    return law


def noisy(
    counts: Counts, draws: int, q: Fraction, support: str, sampling: str = WITHOUT, reach: int = 0
) -> Law:
    law: Law = {}
    for h, chance in sampled(counts, draws, sampling).items():
        rows = [row(one, draws, q, support, reach) for one in h]
        for parts in product(*(r.items() for r in rows)):
            mass = math.prod((p for _, p in parts), start=chance)
            output = tuple(o for o, _ in parts)
            law[output] = law.get(output, F(0)) + mass
    return law


def moved(counts: Counts, a: int, b: int) -> Counts:
    result = list(counts)
    result[a] -= 1
    result[b] += 1
    return tuple(result)


def replacements(counts: Counts) -> list[tuple[int, int]]:
    m = len(counts)
    return [(a, b) for a, b in product(range(m), repeat=2) if a != b and counts[a]]


def both(p: Law, q: Law, growth: Fraction) -> Fraction:
    return max(oracles.hockey_stick(p, q, growth), oracles.hockey_stick(q, p, growth))


@pytest.mark.parametrize("sampling", [WITHOUT, WITH])
@pytest.mark.parametrize("support", SUPPORTS)
def test_lumping_is_exact(support: str, sampling: str) -> None:
    """Statement 1: five outputs more on each side change no stick, and all sum to 1."""
    q = F(2, 5)
    for draws, counts in [(1, (2, 2)), (2, (1, 3)), (3, (0, 4))]:
        for a, b in replacements(counts):
            for growth in (F(1), F(6, 5), F(3)):
                sticks = []
                for reach in (0, 5):
                    pair = [
                        noisy(c, draws, q, support, sampling, reach)
                        for c in (counts, moved(counts, a, b))
                    ]
                    assert all(sum(law.values()) == 1 for law in pair)
                    there, back = pair
                    sticks.append(
                        (both(there, back, growth), oracles.hockey_stick(there, back, growth))
                    )
                assert sticks[0] == sticks[1]
    for h in range(4):
        z = normaliser(h, q, support)
        assert (1 - q) * z == (1 + q if support == "integers" else 1 + q - q ** (h + 1))
        beta = [1 if o == 3 or (o == 0 and support == "integers") else 1 - q for o in range(4)]
        lumped = row(h, 3, q, support)
        assert lumped == {o: beta[o] * q ** abs(o - h) / ((1 - q) * z) for o in range(4)}
    w = [F(3), F(0), F(7), F(1)]
    y, z_back = [w[0]], [F(0)]
    for o in range(1, 4):
        y.append(q * y[-1] + w[o])
        z_back.append(q * (z_back[-1] + w[4 - o]))
    for o in range(4):
        assert y[o] + z_back[3 - o] == sum(q ** abs(o - h) * w[h] for h in range(4))


def test_lumping_below_the_sample_size_loses() -> None:
    """The hypothesis of statement 1: outputs below T have ratios of their own."""
    q, counts, draws = F(1, 2), (2, 2), 2

    def cut(law: Law) -> Law:
        result: Law = {}
        for o, mass in law.items():
            joined = tuple(min(one, draws - 1) for one in o)
            result[joined] = result.get(joined, F(0)) + mass
        return result

    here, there = (noisy(c, draws, q, "nonnegative") for c in (counts, (1, 3)))
    growth = F(11, 10)
    assert oracles.hockey_stick(cut(here), cut(there), growth) < oracles.hockey_stick(
        here, there, growth
    )


def test_the_two_smallest_counts_do_not_suffice() -> None:
    """Statement 2: q = 1/2, T = 1, (1, 2, 3), E = 6/5, and the closed form of the proof."""
    counts, growth, q = (1, 2, 3), F(6, 5), F(1, 2)
    here = noisy(counts, 1, q, "integers")
    found = {}
    for a, b in replacements(counts):
        there = noisy(moved(counts, a, b), 1, q, "integers")
        found[a, b] = (
            oracles.hockey_stick(here, there, growth),
            oracles.hockey_stick(there, here, growth),
        )
        rest = counts[3 - a - b]
        form = F(4, 27) * max(4 - counts[a], 0) / 20
        assert found[a, b][0] == form + F(2, 27) * max(4 - counts[a] - rest, 0) / 20
    assert found[0, 2][0] == F(7, 270) == max(max(pair) for pair in found.values())
    assert max(*found[0, 1], *found[1, 0]) == F(1, 45)


@pytest.mark.parametrize("sampling", [WITHOUT, WITH])
@pytest.mark.parametrize("support", SUPPORTS)
@pytest.mark.parametrize("q", [F(1, 5), F(2, 3), F(19, 20)])
def test_pure_epsilon_of_all_small_databases(support: str, sampling: str, q: Fraction) -> None:
    """Statement 3: the largest ratio of any pair, and where it is met."""
    for n, draws in [(2, 1), (3, 2), (4, 1), (3, 3)]:
        last = (1 + q - q**draws) / (1 + q - q ** (draws + 1))
        step = q**-2 * (1 if support == "integers" else (1 + q - q**2) * last)
        once = 1 + F(draws, n) * (step - 1)
        bound = (1 + (step - 1) / n) ** draws if sampling == WITH else once
        largest = F(0)
        for m in (2, 3):
            if m == 3 and draws == 3:
                continue
            laws = {
                counts: noisy(counts, draws, q, support, sampling)
                for counts in product(range(n + 1), repeat=m)
                if sum(counts) == n
            }
            for counts, law in laws.items():
                for a, b in replacements(counts):
                    other = laws[moved(counts, a, b)]
                    largest = max(largest, *(mass / other[o] for o, mass in law.items()))
        assert largest <= bound
        met = support == "integers" or draws == 1 or (sampling == WITHOUT and draws == n)
        assert (largest == bound) == met
        assert step <= q**-3
        assert support == "integers" or step <= q**-2 + 1 / q - 1


def sums(x: Sequence[int], draws: int, sampling: str = WITHOUT) -> dict[Counts, Fraction]:
    """The law of the sum of the drawn values."""
    every = combinations(x, draws) if sampling == WITHOUT else product(x, repeat=draws)
    found = Counter((sum(s),) for s in every)
    return {s: F(k, sum(found.values())) for s, k in found.items()}


def test_extreme_values_are_not_always_the_worst() -> None:
    x, growth = (0, 0, 2, 2, 4, 4), F(3)
    here = sums(x, 2)
    assert both(here, sums((0, 0, 1, 2, 4, 4), 2), growth) == F(1, 3)
    extremes = [sums((0, 2, 2, 4, 4, 4), 2), sums((0, 0, 0, 2, 2, 4), 2)]
    assert [both(here, there, growth) for there in extremes] == [F(1, 15)] * 2


Weights = Mapping[int, Fraction]


def weights(x: Sequence[int], t: int, sampling: str) -> Weights:
    """Samples of t by their sum; sequences divided by t!."""
    result: dict[int, Fraction] = {}
    every = combinations(x, t) if sampling == WITHOUT else product(x, repeat=t)
    unit = F(1) if sampling == WITHOUT else F(1, math.factorial(t))
    for sample in every:
        result[sum(sample)] = result.get(sum(sample), F(0)) + unit
    return result


@pytest.mark.parametrize("sampling", [WITHOUT, WITH])
def test_weights_of_the_search(sampling: str) -> None:
    """Statement 5 (i) to (iv), every record and every value put in."""
    rng = random.Random(5)
    coefficients = [F(1, 1 if sampling == WITHOUT else math.factorial(j)) for j in range(5)]
    for draws in (1, 2, 3, 4):
        x = [rng.randint(0, 4) for _ in range(5)]
        spread = range(-20, 45)
        e = [weights(x, t, sampling) for t in range(draws + 1)]
        for v in set(x):
            rest = list(x)
            rest.remove(v)
            bar = [weights(rest, t, sampling) for t in range(draws + 1)]
            whole, kept = e[draws], bar[draws]
            for t, s in product(range(draws + 1), spread):
                signed = [
                    (-1) ** j * coefficients[j] * e[t - j].get(s - j * v, 0) for j in range(t + 1)
                ]
                assert bar[t].get(s, 0) == sum(signed)
                assert bar[t].get(s, 0) <= e[t].get(s, 0)
            for w in range(5):
                if w == v:
                    continue
                there = weights([*rest, w], draws, sampling)
                held = {value: [F(0)] * len(spread) for value in (v, w)}
                for place, s in enumerate(spread):
                    held[v][place] = F(whole.get(s, 0)) - kept.get(s, 0)
                    held[w][place] = F(there.get(s, 0)) - kept.get(s, 0)
                    once = bar[draws - 1].get(s - w, F(0))
                    if sampling == WITHOUT:
                        assert held[w][place] == once
                        others = [bar[draws - 1].get(s - u, F(0)) for u in range(5)]
                        assert min(others) <= held[w][place] <= max(others)
                    else:
                        assert held[w][place] >= once
                        assert held[v][place] == sum(
                            -((-1) ** j) * coefficients[j] * e[draws - j].get(s - j * v, 0)
                            for j in range(1, draws + 1)
                        )
                for growth in (F(1), F(5, 4), F(7)):
                    first = second = F(0)
                    for place, s in enumerate(spread):
                        a, b, k = held[v][place], held[w][place], kept.get(s, F(0))
                        total = k + a
                        gap = a + k - growth * (b + k)
                        assert gap == growth * (a - b - (1 - 1 / growth) * total)
                        back = b + k - growth * (a + k)
                        assert back == b - a - (growth - 1) * total
                        first, second = first + max(gap, F(0)), second + max(back, F(0))
                    size = sum(whole.values())
                    laws = [{(s,): m / size for s, m in one.items()} for one in (whole, there)]
                    assert first == size * oracles.hockey_stick(laws[0], laws[1], growth)
                    assert second == size * oracles.hockey_stick(laws[1], laws[0], growth)
                    cost = {s: rng.randint(0, 3) for s in range(-30, 60)}
                    if sampling == WITHOUT:
                        exact = sum(
                            max(held[w][place] - cost[s], F(0)) for place, s in enumerate(spread)
                        )
                        rest_bound = sum(
                            max(
                                bar[draws - 1].get(s, F(0)) - min(cost[s + u] for u in range(5)),
                                F(0),
                            )
                            for s in spread
                            if -20 <= s < 41
                        )
                        assert exact <= rest_bound


@pytest.mark.parametrize("sampling", [WITHOUT, WITH])
def test_a_value_off_the_grid_shows_itself(sampling: str) -> None:
    """Statement 6: 1000 coincides with no sum of 0..8; on the grid itself it fails."""
    rng = random.Random(6)
    for n, draws in [(3, 1), (4, 2), (5, 3)]:
        cap = F(draws, n) if sampling == WITHOUT else 1 - (1 - F(1, n)) ** draws
        for growth in (F(1), F(3), F(10**9)):
            x = [rng.randint(0, 8) for _ in range(n)]
            there = sums([*x[:-1], 1000], draws, sampling)
            assert both(sums(x, draws, sampling), there, growth) == cap
    here = sums((0, 0, 0, 1, 1, 1), 3)
    beside = [sums((0, 0, 1, 1, 1, 1), 3), sums((0, 0, 0, 0, 1, 1), 3)]
    assert [both(here, there, F(2)) for there in beside] == [F(1, 10)] * 2
