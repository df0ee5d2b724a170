"""What bounds a hockey stick far below in one step (proofs/boundary-walk#8), against rationals."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

import smoothdp as sd
from smoothdp.design.cells import Cell, Stratum
from smoothdp.design.largest_draws import CellsQuestion, largest_draws
from smoothdp.exact.parameters.numbers import LogRatio
from smoothdp.mechanisms.histogram.walk.far import log_far_above
from tests.checkers.rationals import log_fraction
from tests.theorems.test_boundary_walk_proof import stick, tables

GROWTHS = [Fraction(11, 10), Fraction(2), Fraction(20)]


@pytest.mark.parametrize("growth", GROWTHS)
def test_never_below_the_truth(growth: Fraction) -> None:
    useful = 0
    for a, b, rest, draws in tables(9):
        if not 1 <= draws < a + b + rest:
            continue
        truth = stick(a, b, rest, draws, growth)
        found = log_far_above(a, b, rest, draws, LogRatio(growth))
        assert truth == 0 or log_fraction(truth) <= found
        useful += found < 0
    assert useful or growth < 2


def line(a: int, b: int, rest: int, draws: int, growth: float, s: float, *, by_lost: bool) -> float:
    """The two lines of the statement, in floats."""
    total = a + b + 1 + rest
    lost = total - draws
    front = total / (lost * math.e * s)
    if by_lost:
        mean = (b + 1) * math.expm1(s / (b + 1)) + a * math.expm1(-s * growth / a)
        return front * (1 + mean / total) ** lost
    mean = a * math.expm1(s * growth / a) + (b + 1) * math.expm1(-s / (b + 1))
    return front * math.exp(s * (1 - growth)) * (1 + mean / total) ** draws


def test_every_s_is_proved() -> None:
    """Both lines, for any s; without Hoeffding's theorem's direction one would be too small."""
    too_small = 0
    for a, b, rest, draws in tables(7):
        if not 1 <= draws < a + b + rest:
            continue
        truth = float(stick(a, b, rest, draws, Fraction(2)))
        for s in (0.1, 1.0, 3.0, 10.0):
            for by_lost in (True, False):
                bound = line(a, b, rest, draws, 2.0, s, by_lost=by_lost)
                assert truth <= bound * (1 + 1e-12)
                # The constant 1/e is needed: twice as small a factor fails somewhere.
                too_small += truth > bound / 2
    assert too_small


def test_worked_example() -> None:
    assert line(3, 2, 5, 8, math.e, 2.0, by_lost=True) == pytest.approx(0.7376, abs=1e-4)
    bounds = sd.SamplingHistogram(10, n_draws=8).pair_divergence(3, 2, Fraction(1))
    assert math.exp(bounds.upper) == pytest.approx(0.4667, abs=1e-4)


def test_it_is_within_twice_the_exponent_where_it_matters() -> None:
    for a, b, rest, draws in [(50_000, 30_000, 20_000, 50_000), (20_000, 30_000, 10**6, 900_000)]:
        mechanism = sd.SamplingHistogram(a + b + rest, n_draws=draws)
        truth = mechanism.pair_divergence(a, b, Fraction(1, 2))
        found = log_far_above(a, b, rest, draws, Fraction(1, 2))
        assert truth.upper <= found <= truth.lower / 2.2
        assert found < -30


def test_sides_change_no_design() -> None:
    """With the bound and without it, the same number of draws: only walks are saved."""
    cells = Stratum(None, (Cell("a", 400_000), Cell("b", 20_000), Cell("c", 30_000)))
    target = Fraction(1, 10**9)
    for epsilon in (Fraction(1), Fraction(1, 100)):
        best = largest_draws(cells, epsilon=epsilon, target=target)
        question = CellsQuestion(cells, epsilon)
        assert question.delta(best.n_draws).upper <= math.log(1e-9)
        beyond = max(question.pair(p, best.n_draws + 1).lower for p in question.pairs)
        assert beyond > math.log(1e-9)
        most = max(question.pair(p, best.n_draws).upper for p in question.pairs)
        assert question.delta(best.n_draws).upper == most


def test_a_million_million_records_in_a_moment() -> None:
    """Minutes without the bound: the first numbers of draws are 10^10 nats below the target."""
    n = 10**12
    design = sd.rate_design([n // 2, 3 * n // 10, n // 5], epsilon=1, delta="1e-9", merge=[])
    assert design.is_largest
    assert 0.99 < design.rate < 1
    assert log_far_above(2 * n // 10, 3 * n // 10, n // 2, n // 2, Fraction(1)) < -1e9


@pytest.mark.parametrize("epsilon", [Fraction(0), Fraction(301), Fraction(10**6)])
def test_it_says_nothing_where_it_cannot(epsilon: Fraction) -> None:
    assert log_far_above(5, 5, 5, 7, epsilon) == 0.0
