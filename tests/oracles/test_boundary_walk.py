"""The walk along the boundary beside the sums over planes, and at extremes."""

from __future__ import annotations

import math
import random
import tracemalloc
from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise

import pytest

import smoothdp as sd
from smoothdp.exact.logspace.bounds import LOG_ZERO, LogBounds
from smoothdp.exact.parameters.numbers import LogRatio, Real, exact_real
from smoothdp.exact.probabilities.points import hypergeometric_point
from smoothdp.mechanisms.histogram.accounting.hockey_stick import hypergeometric_line_divergence
from smoothdp.mechanisms.histogram.accounting.independent import independent_divergence
from smoothdp.mechanisms.histogram.accounting.plane import plane_divergence
from smoothdp.mechanisms.histogram.accounting.plane_laws import (
    HypergeometricPlane,
    MultinomialPlane,
)
from smoothdp.mechanisms.histogram.walk import start, walked
from smoothdp.mechanisms.histogram.walk.divergence import (
    is_resolved,
    walked_hypergeometric,
    walked_independent,
    walked_multinomial,
)
from tests.checkers.rationals import log_fraction
from tests.theorems.test_boundary_walk_proof import stick

F = Fraction


def overlap(first: LogBounds, second: LogBounds) -> bool:
    return max(first.lower, second.lower) <= min(first.upper, second.upper)


def random_case(rng: random.Random) -> tuple[int, int, int, Real]:
    a = int(10 ** rng.uniform(0.31, 3.3))
    b = int(10 ** rng.uniform(0, 3.3))
    rest = int(10 ** rng.uniform(0, 4))
    epsilon = rng.choice(["0", "0.001", "0.1", "0.5", "ln(2)", "ln(3/2)", "1", "2", "4", "1e-6"])
    return a, b, rest, exact_real(epsilon, name="epsilon")


@pytest.mark.parametrize("seed", range(60))
def test_both_routes_overlap(seed: int) -> None:
    rng = random.Random(seed)
    a, b, rest, epsilon = random_case(rng)
    draws = rng.randrange(1, a + b + rest)
    keep = F(rng.randrange(1, 1000), 1000)
    many = int(10 ** rng.uniform(0, 4.3))
    pairs = [
        (
            walked_hypergeometric(a, b, rest, draws, epsilon),
            plane_divergence(HypergeometricPlane(a, b, rest, draws), epsilon),
        ),
        (
            walked_independent(a, b, keep, epsilon),
            independent_divergence(a, b, keep, epsilon),
        ),
        (
            walked_multinomial(a, b, rest, many, epsilon),
            plane_divergence(MultinomialPlane(a, b, rest, many), epsilon),
        ),
    ]
    for walk, plane in pairs:
        assert overlap(walk, plane)
        assert walk.upper - walk.lower < 1e-9 or walk.lower == -math.inf


@pytest.mark.parametrize("seed", range(12))
def test_two_categories_by_one_line(seed: int) -> None:
    """With nobody in a third category the walk has one count on each row."""
    rng = random.Random(seed)
    a, b, _, epsilon = random_case(rng)
    draws = rng.randrange(1, a + b)
    walk = walked_hypergeometric(a, b, 0, draws, epsilon)
    line = hypergeometric_line_divergence(a, b, draws, epsilon)
    assert overlap(walk, line)
    assert walk.upper - walk.lower < 1e-9 or walk.lower == -math.inf


@pytest.mark.parametrize("chunk", [1, 2, 7, 64])
def test_any_chunk_leads_to_the_same(chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    cases = [(40, 30, 50, 70, F(1, 10)), (30, 40, 90, 80, F(1, 2)), (9, 9, 9, 13, F(0))]
    whole = [walked_hypergeometric(*case) for case in cases]
    drawn = walked_multinomial(30, 12, 50, 90, F(1, 10))
    monkeypatch.setattr(walked, "CHUNK", chunk)
    for case, before in zip(cases, whole, strict=True):
        assert overlap(walked_hypergeometric(*case), before)
    assert overlap(walked_multinomial(30, 12, 50, 90, F(1, 10)), drawn)


@pytest.mark.parametrize("block", [1, 2, 17, 64])
def test_long_first_sums_by_blocks(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    cases = [(371, 274, 83, 412, F(3, 10)), (31, 1197, 2346, 2888, F(1, 50)), (9, 9, 9, 13, F(0))]
    routes: list[Callable[[int, int, int, int, Fraction], LogBounds]] = [
        walked_hypergeometric,
        walked_multinomial,
        lambda a, b, rest, draws, e: walked_independent(a, b, F(draws, a + b + rest), e),
    ]
    whole = [route(*case) for route in routes for case in cases]
    monkeypatch.setattr(start, "_BLOCK", block)
    split = [route(*case) for route in routes for case in cases]
    for before, after in zip(whole, split, strict=True):
        assert overlap(before, after)
        assert after.upper - after.lower < 1e-9


def test_a_million_million_records_in_constant_memory() -> None:
    n = 10**12
    tracemalloc.start()
    bounds = walked_hypergeometric(n // 4, n // 4, n // 2, n // 2, F(1, 10**5))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 50e6
    assert abs(bounds.lower + 22.66451284987) < 1e-7
    assert bounds.upper - bounds.lower < 1e-9


@pytest.mark.parametrize("growth", [F(1), F(2), F(5, 4), F(3, 2), F(4, 3)])
def test_ties(growth: Fraction) -> None:
    """kappa is whole on many rows: there s = 1, not 0."""
    epsilon: Real = LogRatio(growth) if growth != 1 else F(0)
    for a, b, rest, draws in ((12, 11, 9, 16), (6, 11, 7, 15), (10, 7, 6, 13), (20, 19, 2, 30)):
        bounds = walked_hypergeometric(a, b, rest, draws, epsilon)
        truth = log_fraction(stick(a, b, rest, draws, growth))
        assert bounds.lower - 4e-15 <= truth <= bounds.upper + 4e-15
        assert bounds.upper - bounds.lower < 1e-9


def test_next_to_the_boundary_of_zero() -> None:
    """Below 2^-64 of a record the walk says only that little is left; the plane says how little."""
    near = LogRatio(F(2) - F(1, 10**20))
    walk = walked_hypergeometric(4, 1, 1, 2, near)
    truth = log_fraction(stick(4, 1, 1, 2, near.ratio))
    assert walk.lower == -math.inf
    assert truth <= walk.upper < -40
    assert not is_resolved(walk)
    bounds = sd.SamplingHistogram(6, n_draws=2).pair_divergence(4, 1, near)
    assert bounds.lower <= truth + 4e-15
    assert truth - 4e-15 <= bounds.upper
    assert bounds.upper - bounds.lower < 1e-8


@pytest.mark.parametrize("epsilon", ["0", "1e-5000", "1e-30", "1e-9"])
def test_tiny_epsilon(epsilon: str) -> None:
    exact = exact_real(epsilon, name="epsilon")
    at_zero = log_fraction(stick(9, 8, 11, 12, F(1)))
    bounds = walked_hypergeometric(9, 8, 11, 12, exact)
    assert bounds.lower - 1e-7 <= at_zero <= bounds.upper + 1e-7
    assert bounds.upper - bounds.lower < 1e-9


@pytest.mark.parametrize("epsilon", ["3", "30", "700", "1e6", "ln(9)", "ln(8999/1000)"])
def test_huge_epsilon(epsilon: str) -> None:
    """From e^epsilon = A on only i = A counts (proofs/two-smallest#2)."""
    bounds = walked_hypergeometric(9, 8, 11, 12, exact_real(epsilon, name="epsilon"))
    alone = hypergeometric_point(9, 12, 9, 19)
    assert bounds.upper - bounds.lower < 1e-9
    if epsilon != "ln(8999/1000)":
        assert (
            bounds.lower - 4e-15 <= alone.lower if epsilon != "3" else bounds.upper >= alone.lower
        )
    assert bounds.upper >= alone.lower


def test_few_or_many_draws() -> None:
    for draws in (1, 2, 28, 27):
        for growth in (F(1), F(3, 2)):
            epsilon: Real = LogRatio(growth) if growth != 1 else F(0)
            bounds = walked_hypergeometric(9, 9, 11, draws, epsilon)
            exact = stick(9, 9, 11, draws, growth)
            if exact == 0:
                assert bounds == LOG_ZERO
                continue
            assert bounds.lower - 4e-15 <= log_fraction(exact) <= bounds.upper + 4e-15


def test_deep_in_the_tail() -> None:
    """delta = e^-586820: the window is not where j alone is likely."""
    counts = [5 * 10**8, 3 * 10**8, 2 * 10**8]
    profile = sd.SamplingHistogram(10**9, n_draws=5 * 10**8).at(counts)
    bounds = profile.log_delta_bounds(F(1, 10))
    assert bounds.lower - 5e-8 <= -586_820.8362446 <= bounds.upper + 5e-8
    assert bounds.upper - bounds.lower <= 4 * math.ulp(bounds.upper)
    assert profile.delta("0.1") == 5e-324


def test_memory_is_constant() -> None:
    tracemalloc.start()
    walked_hypergeometric(3 * 10**8, 3 * 10**8, 4 * 10**8, 5 * 10**8, F(1, 10**5))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 50e6


def test_falls_in_epsilon_and_in_the_counts() -> None:
    values = [walked_hypergeometric(500, 700, 900, 1200, F(k, 50)) for k in range(12)]
    assert all(later.upper <= earlier.lower for earlier, later in pairwise(values))
    assert walked_hypergeometric(501, 700, 899, 1200, F(1, 10)).lower <= (
        walked_hypergeometric(500, 700, 900, 1200, F(1, 10)).upper
    )


def test_fifty_equal_categories() -> None:
    counts = [20_000] * 50
    mechanism = sd.SamplingHistogram(10**6, n_draws=900_000)
    low, high = mechanism.delta_bounds(counts, epsilon="0.05")
    assert 0 < low <= high < low * (1 + 1e-9)
    assert high < mechanism.delta([*[20_000] * 48, 19_999, 20_001], epsilon="0.05") * (1 + 1e-9)


@pytest.mark.parametrize("count", [0, 1])
def test_a_count_of_one_or_none_is_the_sampling_rate(count: int) -> None:
    n = 10**9
    mechanism = sd.SamplingHistogram(n, sampling_rate="0.5")
    counts = [count, 4 * 10**8, n - 4 * 10**8 - count]
    assert mechanism.delta(counts, epsilon=1) == 0.5


def test_all_but_one_record_of_a_billion() -> None:
    n = 10**9
    mechanism = sd.SamplingHistogram(n, n_draws=n - 1)
    low, high = mechanism.delta_bounds([2, 3, n - 5], epsilon="0.1")
    assert low <= high <= mechanism.worst_case_delta(epsilon="0.1")
    assert high - low < 1e-11


def test_a_row_beyond_floats_claims_nothing() -> None:
    """The older route once put the lower bound of such a row at infinity."""
    law = HypergeometricPlane(1607, 1, 5209, 6172)
    with pytest.warns(RuntimeWarning, match="overflow"):
        bounds = plane_divergence(law, F(0))
    assert bounds.lower == -math.inf
    assert bounds.upper == 0.0
    assert walked_hypergeometric(1607, 1, 5209, 6172, F(0)).lower > -0.2


@pytest.mark.parametrize("counts", [(3 * 10**6, 2 * 10**6), (2 * 10**6, 3 * 10**6)])
@pytest.mark.parametrize("epsilon", ["1e-18", "1e-9"])
def test_hardly_any_record_is_kept(counts: tuple[int, int], epsilon: str) -> None:
    """A share of 1e-20: its complement is no float, and every row once looked impossible."""
    share, e = F(1, 10**20), exact_real(epsilon, name="epsilon")
    found = walked_independent(*counts, share, e)
    # To first order in the share: one record kept, of a; then one of a and one of b.
    growth, (a, b) = 1 + F(epsilon) + F(epsilon) ** 2 / 2, counts
    none = 1 - share * (a + b - 1)
    truth = share * (a - growth * (a - 1)) * none
    both = share**2 * (a * b - growth * (a - 1) * (b + 1))
    truth += max(both, F(0))
    assert math.isclose(math.exp(found.upper), float(truth), rel_tol=1e-9)
    assert found.upper - found.lower < 1e-10
