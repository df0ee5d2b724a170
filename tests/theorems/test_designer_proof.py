"""Each statement of docs/proofs/designer.md, by enumeration in exact rationals."""

from __future__ import annotations

import math
import random
from fractions import Fraction
from itertools import product

import pytest

import smoothdp as sd
from smoothdp.design.cells import read_strata
from smoothdp.design.largest_draws import CellsQuestion
from smoothdp.design.noise_option import noise_option
from smoothdp.design.sampling_errors import sampling_error
from smoothdp.design.step.bounds import log_few, step_bounds
from smoothdp.exact.parameters.numbers import LogRatio

F = Fraction
Law = dict[tuple[int, ...], Fraction]


def law(counts: tuple[int, ...], draws: int) -> Law:
    """The law of the sampled histogram, without replacement."""
    every = math.comb(sum(counts), draws)
    return {
        h: F(math.prod(map(math.comb, counts, h)), every)
        for h in product(*(range(c + 1) for c in counts))
        if sum(h) == draws
    }


def stick(here: Law, there: Law, growth: Fraction) -> Fraction:
    return sum((max(F(0), p - growth * there.get(h, F(0))) for h, p in here.items()), F(0))


def neighbours(counts: tuple[int, ...]) -> list[tuple[int, ...]]:
    return [
        tuple(c - (i == a) + (i == b) for i, c in enumerate(counts))
        for a, b in product(range(len(counts)), repeat=2)
        if a != b and counts[a]
    ]


def delta(counts: tuple[int, ...], draws: int, growth: Fraction) -> Fraction:
    """The largest hockey stick over every neighbour and both directions."""
    here = law(counts, draws)
    others = [law(there, draws) for there in neighbours(counts)]
    return max(max(stick(here, o, growth), stick(o, here, growth)) for o in others)


def tables(generator: random.Random, times: int) -> list[tuple[int, ...]]:
    chosen = []
    for _ in range(times):
        size = generator.randint(2, 4)
        chosen.append(tuple(generator.randint(0, 6) for _ in range(size)))
    return [counts for counts in chosen if sum(counts) >= 2]


def test_the_largest_sample_is_that_of_an_enumeration() -> None:
    """All deltas of small tables, targets between them and on none of them."""
    generator = random.Random(27)
    pinned = ties = 0
    for counts in [(4, 4), (2, 3, 2), (0, 5, 3), *tables(generator, 25)]:
        n, growth = sum(counts), F(generator.randint(10, 40), 10)
        exact = [F(0), *(delta(counts, draws, growth) for draws in range(1, n + 1))]
        for target in {F(generator.randint(1, 999), 1000), F(1, 7)}:
            design = sd.rate_design(list(counts), epsilon=f"ln({growth})", delta=target, merge=())
            best = max(t for t in range(n + 1) if exact[t] <= target)
            if design.n_draws != best:
                # A tie: no bracket decides it, and the result says so.
                assert exact[best] == target
                assert design.undecided == range(best, best + 1)
                ties += 1
            assert design.is_largest is (not design.undecided)
            pinned += design.pinned
            low, high = design.lower, design.delta
            assert F(low) <= exact[design.n_draws] <= F(high)
    assert pinned > 5
    assert ties < 5


def test_delta_never_falls_with_draws() -> None:
    generator, strict = random.Random(3), 0
    for counts in tables(generator, 25):
        growth = F(generator.randint(10, 30), 10)
        found = [delta(counts, draws, growth) for draws in range(1, sum(counts) + 1)]
        assert found == sorted(found), counts
        strict += found[0] < found[-1]
        # One hockey stick by itself.
        first = neighbours(counts)[0]
        sticks = [stick(law(counts, t), law(first, t), growth) for t in range(1, sum(counts) + 1)]
        assert sticks == sorted(sticks)
    assert strict > 15
    # As a share of ordinary DP's T/n it may fall: counts (2, 2), E = 2, T = 1 to 4.
    shares = [delta((2, 2), t, F(1)) / F(t, 4) for t in range(1, 5)]
    assert shares != sorted(shares)


def test_merging_never_raises_delta() -> None:
    generator, strict = random.Random(5), 0
    for counts in tables(generator, 40):
        if len(counts) < 3:
            continue
        growth = F(generator.randint(10, 30), 10)
        draws = generator.randint(1, sum(counts))
        a, b = generator.sample(range(len(counts)), 2)
        rest = tuple(c for i, c in enumerate(counts) if i not in (a, b))
        merged, before = (*rest, counts[a] + counts[b]), delta(counts, draws, growth)
        assert delta(merged, draws, growth) <= before, counts
        strict += delta(merged, draws, growth) < before
    assert strict > 5
    # Not onto: a category that nobody can come from.
    assert delta((3, 3, 0), 2, F(2)) > delta((3, 3), 2, F(2))
    # Leaving a cell out is no merging, and may raise it.
    assert delta((2, 2), 3, F(2)) > delta((2, 2, 5), 3, F(2))
    design = sd.rate_design([9, 8, 7, 6, 5], epsilon=1, delta="1e-2", merge=(2, 3, 4))
    assert all(one.rate >= design.rate for one in design.merges)
    assert [one.rate for one in design.merges] == sorted(
        (one.rate for one in design.merges), reverse=True
    )


def test_strata_at_one_rate() -> None:
    """The product of two strata, every neighbour in either; then the largest shared rate."""
    first, second, growth = (2, 2), (3, 4), F(3, 2)
    draws = (1, 3)
    both = {
        (*g, *h): p * q for (g, p), (h, q) in product(law(first, 1).items(), law(second, 3).items())
    }
    largest = F(0)
    for one, other in [(x, second) for x in neighbours(first)] + [
        (first, x) for x in neighbours(second)
    ]:
        there = {
            (*g, *h): p * q
            for (g, p), (h, q) in product(law(one, 1).items(), law(other, 3).items())
        }
        largest = max(largest, stick(both, there, growth), stick(there, both, growth))
    assert largest == max(delta(first, draws[0], growth), delta(second, draws[1], growth))
    counts, target = {"a": {"x": 2, "y": 2}, "b": {"x": 3, "y": 4}}, F(1, 5)
    design = sd.rate_design(counts, epsilon="ln(3/2)", delta=target)

    def worst(rate: Fraction) -> Fraction:
        return max(
            delta(cells, math.ceil(rate * sum(cells)), growth) if rate else F(0)
            for cells in (first, second)
        )

    rates = {F(0), *(F(t, 4) for t in range(5)), *(F(t, 7) for t in range(8))}
    assert design.rate == max(rate for rate in rates if worst(rate) <= target)


@pytest.mark.parametrize(("n", "draws"), [(5, 2), (10, 10), (10**6, 1)])
@pytest.mark.parametrize("epsilon", ["0.01", "1", "7"])
def test_noise_makes_epsilon_pure(n: int, draws: int, epsilon: str) -> None:
    option = noise_option(F(draws, n), F(epsilon), "")
    assert option is not None
    noisy = sd.NoisySamplingHistogram(
        n, n_draws=draws, noise_epsilon=option.noise_epsilon, noise_support="integers"
    )
    assert float(epsilon) * (1 - 1e-9) < noisy.pure_epsilon() <= float(epsilon)
    louder = sd.NoisySamplingHistogram(
        n,
        n_draws=draws,
        noise_epsilon=option.noise_epsilon * (1 + F(1, 10**6)),
        noise_support="integers",
    )
    assert louder.pure_epsilon() > float(epsilon)
    q = math.exp(-float(option.noise_epsilon) / 4)
    variance = sum(2 * z * z * q**z for z in range(1, 4000)) * (1 - q) / (1 + q)
    assert option.standard_deviation == pytest.approx(math.sqrt(variance), rel=1e-6)


def test_sampling_errors() -> None:
    for n, draws, count in [(5, 2, 3), (9, 4, 1), (8, 7, 0), (6, 6, 2)]:
        found = law((count, n - count), draws)
        mean = sum((p * h[0] for h, p in found.items()), F(0)) * F(n, draws)
        square = sum((p * (F(n, draws) * h[0] - count) ** 2 for h, p in found.items()), F(0))
        assert mean == count
        error = sampling_error(count, n_records=n, n_draws=draws)
        assert error**2 == pytest.approx(float(square), abs=1e-12)
    # Records of two laws: the mean square is at most that at the share nearest to 1/2.
    laws, n, draws = [F(1, 5), F(2, 5)], 4, 3
    for values in product(laws, repeat=n):
        total = F(0)
        for bits in product((0, 1), repeat=n):
            chance = math.prod(
                (p if bit else 1 - p for p, bit in zip(values, bits, strict=True)), start=F(1)
            )
            h = sum(bits)
            total += chance * F(n, draws) * h * (1 - F(h, n)) * F(n - draws, n - 1)
        assert float(total) <= sampling_error(0.4 * n, n_records=n, n_draws=draws) ** 2 + 1e-12


def expectation(laws: list[tuple[Fraction, ...]], draws: int, growth: Fraction) -> Fraction:
    """The mean of delta(x) over all databases, record i from laws[i]."""
    m, known, total = len(laws[0]), {}, F(0)
    for database in product(range(m), repeat=len(laws)):
        counts = tuple(database.count(c) for c in range(m))
        if counts not in known:
            known[counts] = delta(counts, draws, growth)
        total += known[counts] * math.prod(
            (one[c] for one, c in zip(laws, database, strict=True)), start=F(1)
        )
    return total


MODELS: list[list[tuple[Fraction, ...]]] = [
    [(F(1, 2), F(1, 2))],
    [(F(1, 3), F(2, 3)), (F(3, 5), F(2, 5))],
    [(F(1, 2), F(1, 3), F(1, 6))],
    [(F(1, 1), F(0)), (F(1, 2), F(1, 2))],
]


@pytest.mark.parametrize("model", MODELS)
def test_a_step_is_below_its_upper_end(model: list[tuple[Fraction, ...]]) -> None:
    below = 0
    for n, draws, growth in [(6, 1, F(3)), (7, 2, F(20)), (6, 3, F(3, 2)), (7, 1, F(2))]:
        bounds = step_bounds(model, n_records=n, batch=draws, epsilon=LogRatio(growth))
        for first in range(n + 1):
            if len(model) == 1 and first:
                break
            laws = [model[0]] * first + [model[-1]] * (n - first)
            exact = expectation(laws, draws, growth)
            assert exact == 0 or math.log(exact) <= bounds.log_upper + 1e-12
        below += bounds.log_upper < bounds.log_ordinary
    assert below or any(0 in vertex for vertex in model) or len(model[0]) == 3


def test_chernoff_needs_its_condition() -> None:
    """n = 10, T = 5, four equal categories: the form would be .00319, the truth is .43992."""
    n, draws, q = 10, 5, F(1, 4)
    h0 = draws / (1 - math.exp(-1))
    a = h0 / n
    form = a * math.log(a / 0.25) + (1 - a) * math.log((1 - a) / 0.75)
    assert 4 * 0.5 * math.exp(-n * form) < 0.0064
    assert log_few(q, n, draws, F(1)) > math.log(0.99)
    step = sd.sgd_step_delta(sd.DataModel([(q,) * 4]), n_records=n, batch=draws, epsilon=1)
    smoothed = sd.smoothed_delta(
        sd.SamplingHistogram(n, n_draws=draws), sd.DataModel([(q,) * 4]), epsilon=1
    )
    assert smoothed.delta == pytest.approx(0.43992, abs=1e-5)
    assert step.delta >= smoothed.delta


def average_delta(counts: tuple[int, ...], draws: int, growth: Fraction) -> Fraction:
    """delta(x) of the sum of the drawn levels 0, 1, ..."""

    def summed(here: tuple[int, ...]) -> Law:
        found: Law = {}
        for h, p in law(here, draws).items():
            key = (sum(level * times for level, times in enumerate(h)),)
            found[key] = found.get(key, F(0)) + p
        return found

    here = summed(counts)
    others = [summed(there) for there in neighbours(counts)]
    return max(max(stick(here, o, growth), stick(o, here, growth)) for o in others)


def test_a_step_is_above_its_lower_end() -> None:
    pi, n, growth = (F(1, 2), F(1, 3), F(1, 6)), 4, F(9)
    for draws in (1, 2, 4):
        exact = F(0)
        for database in product(range(3), repeat=n):
            counts = tuple(database.count(c) for c in range(3))
            chance = math.prod((pi[c] for c in database), start=F(1))
            exact += chance * average_delta(counts, draws, growth)
        bounds = step_bounds([pi], n_records=n, batch=draws, epsilon=LogRatio(growth))
        told = F(draws, n) * sum(p**n for p in pi)
        assert bounds.log_lower == pytest.approx(math.log(told), abs=1e-12)
        assert math.exp(bounds.log_lower) <= told * (1 + F(1, 10**12))
        assert told <= exact


def test_every_pair_is_followed() -> None:
    """The one hockey stick that is largest at half of the records need not be so at the target."""
    for counts in [(2, 40), (3, 3, 3), (2, 2, 90), (5, 6, 7)]:
        (stratum,) = read_strata(counts, None)
        question = CellsQuestion(stratum, F(1, 10))
        for target in ("1e-1", "1e-2", "1e-4"):
            design = sd.rate_design(counts, epsilon="0.1", delta=target, merge=())
            aim = math.log(float(target))
            assert question.delta(design.n_draws).upper <= aim + 1e-12
            assert question.delta(design.n_draws + 1).lower > aim


def test_chernoff_has_its_condition_where_it_is_used() -> None:
    """Beyond 1e13 records the tail is Chernoff's bound: 1 where h0/n is not below q."""
    n = 2 * 10**13
    assert log_few(F(1, 10), n, n // 2, F(1)) == 0.0
    assert log_few(F(9, 10), n, n // 2, F(1)) < -(10**11)
