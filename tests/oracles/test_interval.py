"""Intervals of smoothed delta by sampled databases: they hold the exact value."""

from __future__ import annotations

import math
from typing import Any

import pytest

import smoothdp as sd

THREE = sd.DataModel([("0.2", "0.3", "0.5")])
PAIR = sd.DataModel([("0.2", "0.3", "0.5"), ("0.4", "0.3", "0.3")])
# Every interval of this file is wrong with probability 1e-9 at most, before the seeds.
SURE = "0.999999999"


def interval(
    mechanism: Any, model: sd.DataModel, epsilon: str, n_databases: int = 300, **more: Any
) -> sd.smoothed.DeltaInterval:
    return sd.smoothed.smoothed_delta_interval(
        mechanism,
        model,
        epsilon=epsilon,
        n_databases=n_databases,
        confidence=SURE,
        rng=sd.SeededRandom(5),
        **more,
    )


SLOWER = [pytest.param(*case, marks=pytest.mark.slow) for case in ((120, 100, "2"), (150, 75, "1"))]


@pytest.mark.parametrize(
    ("n", "n_draws", "epsilon"),
    [(12, 6, "0.5"), (60, 40, "1"), (60, 30, "2"), *SLOWER],
)
@pytest.mark.parametrize("model", [THREE, PAIR], ids=["one", "two"])
def test_holds_the_exact_value(n: int, n_draws: int, epsilon: str, model: sd.DataModel) -> None:
    mechanism = sd.SamplingHistogram(n, n_draws=n_draws)
    exact = max(
        (
            sd.smoothed_delta(mechanism, sd.DataModel([vertex]), epsilon=epsilon)
            for vertex in model.vertices
        ),
        key=lambda result: result.delta,
    )
    result = interval(mechanism, model, epsilon)
    assert result.log_lower <= exact.log_delta
    assert result.log_upper >= exact.log_lower
    assert result.n_compositions == model.n_vertices
    assert isinstance(result.estimate, float)


def test_tiny_values_come_out_as_sharply() -> None:
    """Plain sampling would see nothing of e^-200; the estimate is within a factor of 3."""
    mechanism = sd.SamplingHistogram(2000, n_draws=1300)
    model = sd.DataModel([("0.1", "0.4", "0.5")])
    result = interval(mechanism, model, "6", n_databases=200)
    # Of the rare value all records are kept, or none is there: the exact main part.
    lost = 700 * math.log1p(-0.1)
    assert result.log_estimate == pytest.approx(lost, abs=math.log(3))
    assert result.log_upper < lost + 5
    assert "importance sampling" in result.method


def test_given_compositions_and_progress() -> None:
    mechanism = sd.SamplingHistogram(12, n_draws=6)
    seen: list[tuple[int, int]] = []
    result = interval(
        mechanism,
        PAIR,
        "0.5",
        n_databases=50,
        compositions=[(6, 6), (12, 0)],
        progress=lambda done, total: seen.append((done, total)),
    )
    assert result.n_compositions == 2
    assert seen == [(step, 100) for step in range(1, 101)]
    assert result.vertex_counts in {(6, 6), (12, 0)}


def test_other_mechanisms() -> None:
    """Not only histograms: whatever has a profile at counts."""
    winner = sd.SamplingWinner(30, n_draws=20, rule="plurality", n_candidates=3)
    exact = sd.smoothed_delta(winner, THREE, epsilon="0.1")
    result = interval(winner, THREE, "0.1")
    assert result.lower <= exact.delta
    assert result.upper >= exact.lower
    assert result.upper - result.lower < 0.3


def test_more_databases_narrow_it() -> None:
    mechanism = sd.SamplingHistogram(60, n_draws=50)
    widths = [
        (lambda r: r.upper - r.lower)(interval(mechanism, THREE, "1", n_databases=count))
        for count in (50, 800)
    ]
    assert widths[1] < widths[0] / 2


def test_wrong_values_are_caught() -> None:
    """The check above can fail: the exact value of another epsilon lies outside."""
    mechanism = sd.SamplingHistogram(120, n_draws=110)
    other = sd.smoothed_delta(mechanism, THREE, epsilon="4")
    result = interval(mechanism, THREE, "1", n_databases=800)
    assert not result.lower <= other.delta <= result.upper


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"n_databases": 1}, sd.errors.InvalidParameter, "n_databases"),
        ({"confidence": 1}, sd.errors.InvalidParameter, "0 < confidence < 1"),
        ({"confidence": "nan"}, sd.errors.InvalidParameter, "confidence"),
        ({"epsilon": -1}, sd.errors.InvalidParameter, "epsilon"),
        ({"compositions": []}, sd.errors.InvalidParameter, "at least one composition"),
        ({"compositions": [(6, 5)]}, sd.errors.InvalidData, "add up to 12"),
        ({"compositions": [(6, 3, 3)]}, sd.errors.InvalidParameter, "over 2 vertices"),
    ],
)
def test_bad_input(changes: dict[str, Any], error: type[Exception], message: str) -> None:
    given: dict[str, Any] = {"epsilon": 1} | changes
    with pytest.raises(error, match=message):
        sd.smoothed.smoothed_delta_interval(sd.SamplingHistogram(12, n_draws=6), PAIR, **given)
