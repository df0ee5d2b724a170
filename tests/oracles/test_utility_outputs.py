"""How many outputs the adversary's utility would have to list: counted before any list is made."""

from __future__ import annotations

import random
import tracemalloc
from collections.abc import Callable
from itertools import product

import pytest

import smoothdp as sd
from smoothdp.exact.logspace.bounds import LogBounds
from smoothdp.exact.parameters.numbers import Real
from smoothdp.mechanisms.histogram.accounting.utility_enumeration import (
    MOST_OUTPUTS,
    _number_of_outputs,
)


def test_number_of_outputs() -> None:
    rng = random.Random(1)
    for _ in range(300):
        most = [rng.randrange(6) for _ in range(rng.randrange(2, 5))]
        total = rng.randrange(sum(most) + 2)
        listed = sum(sum(h) == total for h in product(*(range(limit + 1) for limit in most)))
        assert _number_of_outputs(most, total) == listed


def test_many_outputs_are_refused_at_once() -> None:
    """A hundred million records: the count itself once took minutes and gigabytes."""
    tracemalloc.start()
    assert _number_of_outputs([81_283_502, 74_223_976, 1_800_001], 78_653_738) > MOST_OUTPUTS
    assert _number_of_outputs([10**9] * 50, 10**10) > MOST_OUTPUTS
    mechanism = sd.SamplingHistogram(157_307_476, sampling_rate="0.5")
    with pytest.raises(sd.errors.OutOfReach, match="or more"):
        mechanism.adversary_utility([81_283_500, 74_223_975, 1_800_000], threshold="0.6")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 10e6


def test_one_measurement_asks_for_delta_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[int, int, Real]] = []
    plain = sd.SamplingHistogram.pair_divergence

    def counted(self: sd.SamplingHistogram, count_a: int, count_b: int, epsilon: Real) -> LogBounds:
        asked.append((count_a, count_b, epsilon))
        return plain(self, count_a, count_b, epsilon)

    monkeypatch.setattr(sd.SamplingHistogram, "pair_divergence", counted)
    mechanism = sd.SamplingHistogram(10**7, sampling_rate="0.5")
    counts = {"a": 5 * 10**6, "b": 3 * 10**6, "c": 2 * 10**6}
    measures: list[Callable[[], sd.report.Measurement]] = [
        lambda: sd.report.measure_histogram(mechanism, counts, epsilon="0.01"),
        lambda: sd.report.measure_histogram(mechanism, counts, threshold="0.501"),
    ]
    for measure in measures:
        asked.clear()
        found = measure()
        assert len(asked) == len(set(asked)) == 4
        assert found.utility_limit is not None
        assert found.delta[1] < found.utility_limit < 2 * found.delta[1]
        assert found.delta == mechanism.delta_bounds(counts.values(), epsilon=found.epsilon)
