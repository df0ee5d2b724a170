"""The rarest value: merging against all compositions, caps against all x."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

import smoothdp as sd
from smoothdp.exact.parameters.numbers import exact_real
from smoothdp.mechanisms.histogram.histogram_mechanism import HistogramMechanism
from smoothdp.smoothed.many_values.falling_steps import (
    falling_steps,
    least_count,
    log_any_below,
    two_smallest,
)
from smoothdp.smoothed.many_values.many_values import every_composition
from smoothdp.smoothed.many_values.merged import merged
from smoothdp.smoothed.proposal import propose


def vertex(*shares: str) -> tuple[Fraction, ...]:
    return tuple(Fraction(share) for share in shares)


ONE = (vertex("1/5", "3/10", "1/2"),)
TWO = (vertex("1/5", "3/10", "1/2"), vertex("2/5", "3/10", "3/10"))
FOUR = (vertex("1/10", "1/5", "3/10", "2/5"),)


def mechanisms(n: int) -> list[HistogramMechanism]:
    return [
        sd.SamplingHistogram(n, n_draws=n // 2),
        sd.SamplingHistogram(n, n_draws=n - 2),
        sd.SamplingHistogram(n, n_draws=n, sampling="with_replacement"),
        sd.BernoulliHistogram(n, keep_probability="0.8"),
    ]


@pytest.mark.parametrize("epsilon", ["0.1", "3"])
@pytest.mark.parametrize(("n", "vertices"), [(30, ONE), (24, TWO), (12, FOUR)])
def test_merging_is_below_every_composition(n: int, vertices: Any, epsilon: str) -> None:
    for mechanism in mechanisms(n)[:3]:
        assert isinstance(mechanism, sd.SamplingHistogram)
        exact = every_composition(mechanism, vertices, exact_real(epsilon, name="epsilon"))
        below = merged(mechanism, vertices, exact_real(epsilon, name="epsilon"))
        assert exact is not None
        assert below is not None
        assert below.logs.lower <= exact.logs.upper
        assert sum(below.vertex_counts) == n


@pytest.mark.parametrize("place", range(4))
def test_cap_of_the_two_smallest_counts(place: int) -> None:
    """delta(x) <= V for every x whose smallest counts are at least the arguments."""
    n, epsilon = 13, exact_real("0.3", name="epsilon")
    mechanism = mechanisms(n)[place]
    value = two_smallest(mechanism, epsilon)
    for counts in product(range(n + 1), repeat=3):
        if sum(counts) != n:
            continue
        truth = mechanism.profile_at(counts).log_delta_bounds(epsilon).lower
        smallest = sorted(counts)
        for small in range(smallest[0] + 1):
            for second in range(small, smallest[1] + 1):
                assert truth <= value(small, second) + 1e-12


def test_weights_of_importance_sampling_are_bounded() -> None:
    """delta(x) <= V(H_a) for every x whose other counts are at least c, also where H_a is
    not among the two smallest."""
    n, epsilon = 40, exact_real("1/2", name="epsilon")
    mechanism = sd.SamplingHistogram(n, n_draws=34)
    proposal = propose(mechanism, vertex("3/10", "3/10", "2/5"), epsilon)
    assert proposal is not None
    third = 0
    for h in range(proposal.log_cap.size):
        for other in range(proposal.least_other, n - h - proposal.least_other + 1):
            counts = (h, other, n - h - other)
            truth = mechanism.profile_at(counts).log_delta_bounds(epsilon).lower
            assert truth <= proposal.log_cap[h] + 1e-12
            third += h > max(counts[1:])
    assert third > 0


@pytest.mark.parametrize("rate", [0.01, 1.0, 20.0])
@pytest.mark.parametrize("chance", ["1/50", "1/2", "9/10"])
@pytest.mark.parametrize("n", [1, 30, 4000])
def test_expectation_of_a_falling_function(n: int, chance: str, rate: float) -> None:
    p = Fraction(chance)
    steps = falling_steps(lambda h: -rate * h, n, p, evaluations=400)
    exact = n * math.log1p(-float(p) * -math.expm1(-rate))
    assert exact <= steps.log_total
    # The steps were halved until they cost 3%, or are single counts.
    assert steps.log_total <= exact + 0.5
    h = np.arange(steps.log_values.size)
    assert np.all(steps.log_values >= -rate * h - 1e-12)
    crude = falling_steps(lambda h: -rate * h, n, p, evaluations=2)
    assert crude.log_total >= exact


@pytest.mark.parametrize("level", [0.0, -1e5, -1e7])
def test_small_terms_are_not_lost(level: float) -> None:
    """A constant is its own expectation, however many terms and however deep."""
    steps = falling_steps(lambda h: level, 4_000_000, Fraction(1, 2))  # noqa: ARG005
    assert level <= steps.log_total <= level + 1e-8 + 1e-14 * abs(level)


def test_least_count() -> None:
    chances = [Fraction(1, 4), Fraction(3, 4)]
    for target in (-3.0, -30.0):
        c = least_count(1000, chances, target)
        assert log_any_below(1000, chances, c) <= target < log_any_below(1000, chances, c + 1)
        literal = math.log(sum(binom.cdf(c - 1, 1000, float(p)) for p in chances))
        assert log_any_below(1000, chances, c) == pytest.approx(literal, abs=1e-6)
