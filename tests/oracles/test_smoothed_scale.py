"""Smoothed delta at scale against slower routes: tables, windows, envelopes, bounds."""

from __future__ import annotations

import math
import random
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

import smoothdp as sd
from smoothdp.exact.parameters.numbers import exact_real
from smoothdp.exact.probabilities.windows import log_binomial_pmf
from smoothdp.mechanisms.histogram.accounting.binomial_table import BinomialTable
from smoothdp.mechanisms.histogram.accounting.hockey_stick import (
    hypergeometric_line_divergence,
    multinomial_line_divergence,
)
from smoothdp.mechanisms.histogram.accounting.hypergeometric_table import HypergeometricTable
from smoothdp.mechanisms.histogram.accounting.pair_table import PairTable
from smoothdp.mechanisms.sampling.draws import Draws, Sampling
from smoothdp.smoothed.many_values.closed_bound import log_bound_of_drawn, log_bound_of_lost
from smoothdp.smoothed.many_values.compositions import expectations
from smoothdp.smoothed.many_values.many_values import every_composition
from smoothdp.smoothed.two_values.compositions import all_compositions
from smoothdp.smoothed.two_values.delta_line import FIRST, DeltaLine
from smoothdp.smoothed.two_values.endpoint import endpoint
from smoothdp.smoothed.two_values.two_values import two_values
from smoothdp.types import BoolArray

SAMPLINGS: tuple[Sampling, ...] = ("without_replacement", "with_replacement")


def random_draws(rng: random.Random, sampling: Sampling, largest: int) -> Draws:
    n = rng.choice([n for n in (5, 8, 20, 97, 1000, 10**5, 10**8) if n <= largest])
    draws = rng.randint(1, n - 1) if rng.random() < 0.6 else math.ceil(n * 0.998) - 1
    return Draws(n, draws, sampling)


def random_epsilon(rng: random.Random) -> Any:
    if rng.random() < 0.2:
        return exact_real("ln(51/49)", name="epsilon")
    return Fraction(str(round(10 ** rng.uniform(-3, 1.3), 6)))


@pytest.mark.parametrize("sampling", SAMPLINGS)
@pytest.mark.parametrize("seed", range(25))
def test_many_counts_at_once(sampling: Sampling, seed: int) -> None:
    """The array route brackets the scalar one; both bounds above it are above it."""
    rng = random.Random(seed)
    draws, epsilon = random_draws(rng, sampling, 10**8), random_epsilon(rng)
    counts = np.unique([rng.randint(2, draws.n_records - 1) for _ in range(10)])
    without = sampling == "without_replacement"
    kind = HypergeometricTable if without else BinomialTable
    one = hypergeometric_line_divergence if without else multinomial_line_divergence
    table = kind(draws.n_records, draws.n_draws, epsilon)
    many = table.divergences(counts)
    quick, chernoff = table.one_term_upper(counts), table.log_chernoff(counts, counts)
    for place, count in enumerate(counts.tolist()):
        truth = one(count, draws.n_records - count, draws.n_draws, epsilon)
        assert many.lower[place] <= truth.upper
        assert truth.lower <= many.upper[place]
        assert truth.lower <= min(quick[place], chernoff[place])
        if truth.upper > -math.inf:
            # With replacement the boundary is a float: 4e-16 of its size.
            loose = 1e-11 if without else 1e-8
            assert many.upper[place] - many.lower[place] <= max(1e-11, loose * abs(truth.upper))


@pytest.mark.parametrize("sampling", SAMPLINGS)
@pytest.mark.parametrize("seed", range(12))
def test_chernoff_holds_on_blocks(sampling: Sampling, seed: int) -> None:
    rng = random.Random(100 + seed)
    draws, epsilon = random_draws(rng, sampling, 1000), random_epsilon(rng)
    kind = HypergeometricTable if sampling == "without_replacement" else BinomialTable
    table = kind(draws.n_records, draws.n_draws, epsilon)
    for _ in range(10):
        low = rng.randint(2, draws.n_records - 1)
        high = min(draws.n_records - 1, low + rng.randint(0, 1 + draws.n_records // 8))
        bound = float(table.log_chernoff(np.array([low]), np.array([high]))[0])
        assert float(table.divergences(np.arange(low, high + 1)).lower.max()) <= bound


@pytest.mark.parametrize("sampling", SAMPLINGS)
@pytest.mark.parametrize("n", [4, 5, 9, 200])
def test_the_line_of_deltas(sampling: Sampling, n: int) -> None:
    """delta(h) from two numbers a record is that of the profile; the envelope is above."""
    for n_draws, epsilon in ((n - 1, "0.01"), (n - 1, "2"), (max(1, n // 2), "0.3"), (1, "0.05")):
        draws = Draws(n, n_draws, sampling)
        line = DeltaLine.of(draws, Fraction(epsilon))
        mechanism = sd.SamplingHistogram(n, n_draws=n_draws, sampling=sampling)
        values = line.window(FIRST, line.middle)
        for h in range(FIRST, line.middle + 1):
            low, high = mechanism.delta_bounds([n - h, h], epsilon=epsilon)
            assert math.exp(values.lower[h - FIRST]) <= high * (1 + 1e-14)
            assert low <= math.exp(values.upper[h - FIRST]) * (1 + 1e-14)
        for h in range(FIRST, line.middle + 1, 7):
            for level in (-math.inf, -5.0):
                bound = line.upper_envelope_beyond(h, level=level, most=10**6)
                assert bound >= float(values.lower[h - FIRST :].max())
                crude = line.upper_envelope_beyond(h, level=level, most=0)
                assert crude >= float(values.lower[h - FIRST :].max())


@pytest.mark.parametrize(
    ("n", "n_draws", "epsilon", "sampling"),
    [
        (6, 4, "0.5", "without_replacement"),
        (30, 28, "0.1", "without_replacement"),
        (25, 24, "1", "without_replacement"),
        (24, 12, "3", "without_replacement"),
        (9, 3, "20", "without_replacement"),
        (10, 5, "0.4", "with_replacement"),
        (20, 40, "2", "with_replacement"),
        (9, 3, "900", "with_replacement"),
    ],
)
def test_pairs_of_smallest_counts(n: int, n_draws: int, epsilon: str, sampling: Sampling) -> None:
    table = PairTable(Draws(n, n_draws, sampling), Fraction(epsilon))
    mechanism = sd.SamplingHistogram(n, n_draws=n_draws, sampling=sampling)
    for small in range(n // 3 + 1):
        for large in range(small, (n - small) // 2 + 1):
            low, high = mechanism.delta_bounds([large, n - small - large, small], epsilon=epsilon)
            assert table.lower[small, large] <= high
            assert low <= table.upper[small, large]
            if high > 1e-20 and epsilon != "900":
                assert table.upper[small, large] - table.lower[small, large] <= 1e-8 * high


@pytest.mark.parametrize("sampling", SAMPLINGS)
@pytest.mark.parametrize("seed", range(30))
def test_two_values_against_all_compositions(sampling: Sampling, seed: int) -> None:
    """Envelope, endpoint theorem and blossom against the recursion, lattice cases included."""
    rng = random.Random(seed)
    n = rng.choice([2, 3, 4, 5, 9, 17, 30, 41])
    n_draws = rng.choice([1, 2, n - 1, n - 2, n // 2])
    n_draws = min(max(1, n_draws), n - 1)
    epsilon = Fraction(str(round(10 ** rng.uniform(-2.5, 0.8), 4)))
    chances = tuple({Fraction(rng.randint(1, 19), 20) for _ in range(2)})
    vertices = tuple((p, 1 - p) for p in chances)
    mechanism = sd.SamplingHistogram(n, n_draws=n_draws, sampling=sampling)
    slow = every_composition(mechanism, vertices, epsilon)
    assert slow is not None
    line = DeltaLine.of(Draws(n, n_draws, sampling), epsilon)
    for sharpen in (False, True):
        fast = two_values(line, chances, sharpen=sharpen)
        assert fast.logs.lower <= slow.logs.upper
        assert slow.logs.lower <= fast.logs.upper
        assert fast.logs.upper - fast.logs.lower <= 2e-11


@pytest.mark.parametrize("n", [1, 2, 7, 60])
def test_blossom(n: int) -> None:
    """Any table, not only one of deltas."""
    table = np.random.default_rng(n).random(n + 1)
    chances = (Fraction(17, 20), Fraction(1, 3))
    values, error, allowance = all_compositions(table, chances)
    vertices = tuple((p, 1 - p) for p in chances)
    for (j, _), value in expectations(table, n, vertices):
        assert abs(values[j] - value) <= 2 * error * value + allowance
    assert error < 1e-11


@pytest.mark.parametrize(
    ("n", "n_draws", "epsilon", "chance"),
    [
        (3000, 2990, "0.5", "0.9446"),
        (3001, 1500, "0.05", "1/2"),
        (3000, 2994, "7", "0.3"),
        (2000, 1000, "0.3", "0.02"),
        (3000, 1500, "2", "0.5"),
    ],
)
def test_windows_leave_nothing_out(n: int, n_draws: int, epsilon: str, chance: str) -> None:
    """The windowed expectation against the sum over all counts, at any depth."""
    line = DeltaLine.of(Draws(n, n_draws, "without_replacement"), Fraction(epsilon))
    p = Fraction(chance)
    values = line.window(FIRST, line.middle)
    cap = line.cap.upper
    delta = np.full(n + 1, cap)
    delta[FIRST : line.middle + 1] = values.upper
    delta[n - line.middle : n - FIRST + 1] = values.upper[::-1]
    logs = log_binomial_pmf(np.arange(n + 1), n, p).log_values + delta
    top = float(logs.max())
    truth = top + math.log(math.fsum(np.exp(logs - top).tolist()))
    result = endpoint(line, p).expectation
    assert result.lower - 1e-11 <= truth <= result.upper + 1e-11
    assert result.upper - result.lower <= 1e-11 + 3e-14 * abs(truth)


@pytest.mark.parametrize("seed", range(12))
def test_bounds_by_tails_are_above(seed: int) -> None:
    rng = random.Random(seed)
    n, m = rng.choice([(12, 3), (20, 3), (40, 2), (9, 4), (60, 2)])
    vertices = tuple(
        tuple(Fraction(w, sum(weights)) for w in weights)
        for weights in ([rng.randint(2, 9) for _ in range(m)] for _ in range(2))
    )
    epsilon = Fraction(str(round(rng.choice([0.05, 0.4, 1.3, 4]) * rng.uniform(1, 2), 3)))
    draws = rng.randint(1, n - 1)
    histogram = sd.SamplingHistogram(n, n_draws=draws)
    exact = every_composition(histogram, vertices, epsilon)
    assert exact is not None
    bound = log_bound_of_lost(n, vertices, epsilon, 1 - Fraction(draws, n))
    assert exact.logs.lower <= bound
    replacing = sd.SamplingHistogram(n, n_draws=draws, sampling="with_replacement")
    exact = every_composition(replacing, vertices, epsilon)
    assert exact is not None
    assert exact.logs.lower <= log_bound_of_drawn(n, vertices, epsilon, draws)
    if m == 2 and n < 50:
        independent = sd.BernoulliHistogram(n, keep_probability="0.7")
        exact = every_composition(independent, vertices, epsilon)
        assert exact is not None
        assert exact.logs.lower <= log_bound_of_lost(n, vertices, epsilon, Fraction(3, 10))


@pytest.mark.slow
def test_bounds_by_tails_say_something() -> None:
    """At sizes where all compositions are out of reach the bound is far below the cap.

    So it is in `test_mixtures`, at 1e5 records.
    """
    mechanism = sd.SamplingHistogram(200_000, n_draws=150_000)
    model = sd.DataModel([("0.2", "0.3", "0.5"), ("0.3", "0.3", "0.4")])
    result = sd.smoothed_delta(mechanism, model, epsilon=1)
    assert result.method.startswith("proved upper bound")
    assert result.log_lower < result.log_delta < -1000
    assert result.vertex_counts == (200_000, 0)
    claim = sd.SmoothedDP(1, delta="1e-300", model=model)
    assert result.guarantee.implies(claim)


def test_an_inclusion_that_rounds_to_one_is_not_one() -> None:
    """With replacement and many draws a record is all but surely drawn, and yet hidden."""
    mechanism = sd.SamplingHistogram(400, n_draws=100_000, sampling="with_replacement")
    assert mechanism.inclusion() == 1
    result = sd.smoothed_delta(mechanism, sd.DataModel([("0.5", "0.5")]), epsilon=1000)
    # Only databases in which a value has at most one record reach the cap.
    rare = math.log(2 * 401) - 400 * math.log(2)
    assert result.log_lower <= rare + 1e-9
    assert result.log_delta == pytest.approx(rare, abs=1e-9)


def likelier(n_draws: int, count: int) -> BoolArray:
    """Where P > e^(1/2) P', for 400 records and count of them of the first category."""
    k = np.arange(n_draws + 1)
    gain = k * math.log(count / (count - 1)) + (n_draws - k) * math.log(
        (400 - count) / (401 - count)
    )
    return np.asarray(gain > 0.5)


@pytest.mark.parametrize("n_draws", [10**5, 10**6, pytest.param(10**7, marks=pytest.mark.slow)])
def test_far_more_draws_than_records(n_draws: int) -> None:
    """Where the first output inside is rare and those above it are not."""
    table = BinomialTable(400, n_draws, Fraction(1, 2))
    counts = np.array([2, 3, 50, 200, 398, 399])
    logs = table.divergences(counts)
    for place, count in enumerate(counts.tolist()):
        single = multinomial_line_divergence(count, 400 - count, n_draws, Fraction(1, 2))
        assert logs.lower[place] <= single.upper
        assert single.lower <= logs.upper[place]
        assert logs.upper[place] - logs.lower[place] <= 1e-8
        here, there = (binom(n_draws, h / 400) for h in (count, count - 1))
        first = int(np.argmax(likelier(n_draws, count)))
        literal = here.sf(first - 1) - math.exp(0.5) * there.sf(first - 1)
        assert math.exp(logs.upper[place]) == pytest.approx(literal, abs=1e-8)
