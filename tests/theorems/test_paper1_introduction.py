"""Paper 1: what its introduction, footnote 1 and section 5.2 say without a number."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import pytest

from smoothdp.claims import DataModel
from smoothdp.mechanisms import SamplingAverage, SamplingHistogram
from smoothdp.paper_bounds import liu_kl_smoothed_upper
from smoothdp.papers.smoothed_dp.elections import elections
from smoothdp.testing import oracles


def test_introduction_nobody_had_seventy_percent() -> None:
    """Of the votes for the two leading candidates, and so of all votes: at most 65.3% (1924)."""
    shares = {one.year: max(one.votes) / sum(one.votes) for one in elections()}
    assert min(shares) == 1920
    assert len(shares) == 27
    assert max(shares, key=lambda year: shares[year]) == 1924
    assert 0.652 < max(shares.values()) < 0.653


@pytest.mark.parametrize("n", [500, 5000])
def test_introduction_utility_is_about_one_in_the_worst_case(n: int) -> None:
    """One vote for the other candidate: who knows all others learns it unless it was lost."""
    mechanism = SamplingHistogram(n, sampling_rate="0.998")
    counts = (n - 1, 0)
    utility = mechanism.adversary_utility(counts, threshold="0.51")
    assert 0.997 < utility <= 1
    # A close election of the same size tells nothing like it.
    assert mechanism.adversary_utility((n // 2, n - 1 - n // 2), threshold="0.51") < 0.9


def test_footnote_1_local_sensitivity_is_nowhere_zero() -> None:
    """Every database has a neighbour with another histogram, so no stable answer to test for."""
    for n, m in ((1, 2), (4, 2), (3, 3)):
        for x in itertools.product(range(m), repeat=n):
            own = oracles.histogram(x, m)
            others = {oracles.histogram(y, m) for y in oracles.neighbours_of(x, m)} - {own}
            assert others
            assert {max(abs(a - b) for a, b in zip(own, h, strict=True)) for h in others} == {1}


@pytest.mark.parametrize("epsilon", ["0", "1/2", "1"])
def test_section_5_2_more_values_are_less_private(epsilon: str) -> None:
    """Two values told apart: delta(x) does not fall, and somewhere rises."""
    n, draws, rises = 6, 3, 0
    mechanism = SamplingHistogram(n, n_draws=draws)
    for a, b in itertools.product(range(n + 1), repeat=2):
        if a + b <= n:
            lower, _ = mechanism.delta_bounds((a + b, n - a - b), epsilon=epsilon)
            upper = mechanism.delta((a, b, n - a - b), epsilon=epsilon)
            assert lower <= upper
            rises += upper > 1.01 * lower
    assert rises > 10


@pytest.mark.parametrize("epsilon", ["0", "1/2"])
def test_section_5_2_the_average_is_no_less_private_than_the_histogram(epsilon: str) -> None:
    """The average is a function of the histogram: non-private averages, non-private histograms."""
    values = (Fraction(0), Fraction(1, 2), Fraction(1))
    average = SamplingAverage(5, n_draws=3, universe=values)
    histogram = SamplingHistogram(5, n_draws=3)
    lessened = 0
    for x in itertools.combinations_with_replacement(range(3), 5):
        counts = oracles.histogram(x, 3)
        lower, _ = average.delta_bounds([values[i] for i in x], epsilon=epsilon)
        upper = histogram.delta(counts, epsilon=epsilon)
        assert lower <= upper
        lessened += lower < 0.99 * upper
    assert lessened > 0


def test_section_5_2_theorem_3_says_nothing_of_ever_more_values() -> None:
    """Positivity is at most 1/m, so m e^(-c f n) grows with m, here to the cap T/n."""
    n, draws = 2000, 1000
    bounds = [
        liu_kl_smoothed_upper(
            n_records=n, n_draws=draws, epsilon=2, model=DataModel([(Fraction(1, m),) * m])
        )
        for m in (2, 8, 32, 128, 512)
    ]
    logs = [bound.log for bound in bounds]
    assert all(a < b for a, b in itertools.pairwise(logs[:4]))
    assert logs[0] < -100
    assert logs[-1] == pytest.approx(math.log(draws / n))
