"""Smoothed delta at any number of categories and records: a bound, or OutOfReach in words.

The oracle where there are fewer records than categories: somebody's category is empty, so delta(x)
is T/n at every database, and smoothed delta is T/n exactly.
"""

from __future__ import annotations

import math
import warnings
from fractions import Fraction

import numpy as np
import pytest

import smoothdp as sd
from smoothdp.smoothed.many_values.closed_bound import log_bound_of_drawn, log_bound_of_lost


def uniform(size: int) -> sd.DataModel:
    return sd.DataModel([[Fraction(1, size)] * size])


@pytest.mark.parametrize(("size", "n", "n_draws"), [(256, 100, 10), (80, 60, 59), (300, 299, 298)])
@pytest.mark.parametrize("epsilon", [0, "1e-400", 1, 800])
def test_fewer_records_than_categories(size: int, n: int, n_draws: int, epsilon: object) -> None:
    found = sd.smoothed_delta(
        sd.SamplingHistogram(n, n_draws=n_draws), uniform(size), epsilon=str(epsilon)
    )
    assert found.exact_delta >= Fraction(n_draws, n)
    assert found.delta == sd.SamplingHistogram(n, n_draws=n_draws).worst_case_delta(epsilon=1)
    assert found.lower <= n_draws / n


@pytest.mark.parametrize(("size", "n", "n_draws"), [(80, 10_000, 9_980), (256, 4_000, 50)])
def test_many_categories_beside_sampled_databases(size: int, n: int, n_draws: int) -> None:
    """The mean of exact delta(x) lies below the bound: false alarm below e^-32 (Hoeffding)."""
    mechanism = sd.SamplingHistogram(n, n_draws=n_draws)
    found = sd.smoothed_delta(mechanism, uniform(size), epsilon=1)
    rng = np.random.default_rng(20261019)
    drawn = rng.multinomial(n, [1 / size] * size, size=40)
    deltas = [mechanism.delta_bounds(counts.tolist(), epsilon=1)[0] for counts in drawn]
    slack = math.sqrt(32 / (2 * len(deltas)))
    assert np.mean(deltas) - slack <= found.delta <= n_draws / n + 1e-15
    assert found.lower <= np.mean(deltas) + slack


@pytest.mark.parametrize("law", [sd.DataModel.quantized_normal, sd.DataModel.quantized_laplace])
def test_the_256_levels_of_the_paper(law: object) -> None:
    assert callable(law)
    model = law([0, "1/5"], std="0.12", bits=8)
    found = sd.smoothed_delta(sd.SamplingHistogram(400, n_draws=20), model, epsilon=2)
    # Some level is empty almost surely: T/n, and no less is proved.
    assert found.exact_delta == Fraction(1, 20)
    assert 0.0499 < found.lower <= 0.05
    with pytest.raises(sd.errors.InvalidParameter, match="one draw has"):
        sd.smoothed.largest_sample(model, n_records=400, epsilon=2, delta="1e-6")


def test_the_largest_sample_of_80_categories() -> None:
    design = sd.smoothed.largest_sample(uniform(80), n_records=1000, epsilon=2, delta="1e-2")
    assert design.smoothed.exact_delta <= Fraction(1, 100)
    assert 10 <= design.n_draws < 1000


@pytest.mark.parametrize("n", [60, 2**49])
@pytest.mark.parametrize("epsilon", ["800", "ln(3e500)"])
def test_any_number_of_records(n: int, epsilon: str) -> None:
    for mechanism in (
        sd.SamplingHistogram(n, n_draws=1),
        sd.SamplingHistogram(n, sampling_rate="0.9"),
        sd.SamplingHistogram(n, sampling_rate="0.9", sampling="with_replacement"),
        sd.BernoulliHistogram(n, keep_probability="0.9"),
        sd.BernoulliHistogram(n, keep_probability="1e-400"),
    ):
        found = sd.smoothed_delta(mechanism, uniform(3), epsilon=epsilon)
        assert found.log_lower <= found.log_delta <= 0
        assert 0 <= found.exact_delta <= mechanism.inclusion()
    for records in (2**50, 10**19, 10**400):
        with pytest.raises(sd.errors.InvalidParameter, match="n_records below"):
            sd.SamplingHistogram(records, n_draws=1)


def test_too_many_categories_for_a_mechanism_without_a_bound() -> None:
    for size, n in ((80, 10_000), (256, 10**6), (1024, 10**9)):
        mechanism = sd.NoisySamplingHistogram(n, n_draws=n // 2, noise_epsilon=1)
        with pytest.raises(sd.errors.OutOfReach, match="at most 1000000 compositions") as caught:
            sd.smoothed_delta(mechanism, uniform(size), epsilon=1)
        assert len(str(caught.value)) < 400


def test_a_probability_below_floats() -> None:
    tiny = Fraction(1, 10**330)
    model = sd.DataModel([[tiny, (1 - tiny) / 2, (1 - tiny) / 2]])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sd.errors.PrivacyWarning)
        found = sd.smoothed_delta(sd.SamplingHistogram(300, n_draws=3), model, epsilon=1)
    assert found.exact_delta == Fraction(1, 100)
    assert found.lower > 0.0099


def test_the_closed_bounds_at_their_ends() -> None:
    """Beside two records of two values, where smoothed delta is known: both in one category."""
    vertices = ((Fraction(1, 2), Fraction(1, 2)),)
    for lost in (Fraction(1, 10**400), 1 - Fraction(1, 10**400), Fraction(1, 10**20)):
        assert log_bound_of_lost(10**6, vertices, Fraction(800), lost) <= 0
    for draws in (1, 10**60):
        assert log_bound_of_drawn(10**30, vertices, Fraction(800), draws) <= 0
    # Lost share 1/2 at large epsilon: at least 2^-n of the databases are all of one value.
    bound = log_bound_of_lost(20, vertices, Fraction(10**9), Fraction(1, 2))
    assert bound >= math.log(2 * 0.5**20 * 0.5)


def test_what_is_printed_is_never_above_ordinary_dp() -> None:
    """A rate is a rational number; the float, or the logarithm, above it may print as more."""
    from smoothdp.cli.options.smoothed_words import smoothed_text
    from smoothdp.text import number_up

    model = sd.DataModel([("0.9999", "0.0001")])
    for rate in ("0.9", "0.7", "1/3", "0.1"):
        for mechanism in (
            sd.SamplingHistogram(60, sampling_rate=rate),
            sd.BernoulliHistogram(60, keep_probability=rate),
            sd.SamplingHistogram(60, sampling_rate=rate, sampling="with_replacement"),
        ):
            for epsilon in ("0", "1"):
                found = sd.smoothed_delta(mechanism, model, epsilon=epsilon)
                shown = float(smoothed_text(found, mechanism))
                assert shown <= float(number_up(mechanism.inclusion(), 8))
                assert found.exact_delta <= mechanism.inclusion()
                assert found.delta <= mechanism.worst_case_delta(epsilon=1)
