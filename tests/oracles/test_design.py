"""Design answers against all sample sizes, one after the other."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import pytest

import smoothdp as sd

MODEL = sd.DataModel([("0.3", "0.7"), ("0.6", "0.4")])
THREE = sd.DataModel([("0.3", "0.3", "0.4"), ("0.5", "0.25", "0.25")])


def delta(model: sd.DataModel, n: int, n_draws: int, epsilon: str, sampling: Any) -> float:
    mechanism = sd.SamplingHistogram(n, n_draws=n_draws, sampling=sampling)
    return sd.smoothed_delta(mechanism, model, epsilon=epsilon).log_delta


WITHOUT = "without_replacement"
REPLACING = "with_replacement"


# With replacement up to eight draws of each record are tried: fewer records do.
@pytest.mark.parametrize(
    ("sampling", "model", "n", "epsilon", "target"),
    [
        (WITHOUT, MODEL, 30, "1", "0.15"),
        (WITHOUT, MODEL, 30, "0.2", "0.2"),
        (WITHOUT, MODEL, 30, "2", "1e-2"),
        (WITHOUT, THREE, 14, "1", "0.4"),
        (REPLACING, MODEL, 6, "1", "0.3"),
        (REPLACING, MODEL, 6, "2", "0.1"),
        pytest.param(REPLACING, MODEL, 12, "1", "0.3", marks=pytest.mark.slow),
        pytest.param(REPLACING, MODEL, 12, "0.2", "0.2", marks=pytest.mark.slow),
        pytest.param(REPLACING, MODEL, 12, "2", "5e-2", marks=pytest.mark.slow),
        (REPLACING, THREE, 8, "1", "0.4"),
    ],
)
def test_largest_sample_is_the_largest(
    sampling: Any, model: sd.DataModel, n: int, epsilon: str, target: str
) -> None:
    design = sd.smoothed.largest_sample(
        model, n_records=n, epsilon=epsilon, delta=target, sampling=sampling
    )
    most = n - 1 if sampling == "without_replacement" else 8 * n
    logs = [delta(model, n, k, epsilon, sampling) for k in range(1, most + 1)]
    assert all(later >= earlier - 1e-9 for earlier, later in pairwise(logs))
    met = [k for k, value in enumerate(logs, 1) if value <= math.log(float(target))]
    assert design.n_draws == max(met)
    assert design.is_largest
    assert design.smoothed.log_delta <= math.log(float(target))
    assert design.n_lost == n - design.n_draws


@pytest.mark.parametrize(
    ("n", "digits"), [(10**4, 500), pytest.param(10**6, 5000, marks=pytest.mark.slow)]
)
def test_deep_target_at_scale(n: int, digits: int) -> None:
    """The fewest lost ballots for a delta far below the floats, such as 1e-5000 of a million."""
    design = sd.smoothed.largest_sample(MODEL, n_records=n, epsilon=1, delta=f"1e-{digits}")
    log_target = -digits * math.log(10)
    assert design.smoothed.log_delta <= log_target
    assert design.is_largest
    one_more = delta(MODEL, n, design.n_draws + 1, "1", "without_replacement")
    assert one_more > log_target


def test_with_replacement_has_no_end() -> None:
    """At a large epsilon any number of draws meets the target: the search ends and says so."""
    model = sd.DataModel([("0.5", "0.5")])
    design = sd.smoothed.largest_sample(
        model, n_records=400, epsilon=1000, delta="0.9", sampling="with_replacement"
    )
    assert not design.is_largest
    assert design.n_draws == 64 * 400


def test_by_size_is_one_after_the_other() -> None:
    with pytest.warns(sd.errors.PrivacyWarning, match="nothing is lost"):
        curve = sd.smoothed.smoothed_by_size(
            MODEL, sizes=[10, 100, 1000], sampling_rate="0.95", epsilon="0.5"
        )
    assert curve[0].delta == 1.0
    for n, result in zip((100, 1000), curve[1:], strict=True):
        mechanism = sd.SamplingHistogram(n, sampling_rate="0.95")
        assert result == sd.smoothed_delta(mechanism, MODEL, epsilon="0.5")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"delta": 0}, "0 < delta < 1"),
        ({"delta": 1}, "0 < delta < 1"),
        ({"delta": "1e-9"}, "drawing one of 50 records meets"),
        ({"epsilon": -1}, "epsilon"),
        ({"n_records": 1}, "n_records"),
        ({"sampling": "twice"}, "sampling"),
        ({"model": "units.csv"}, "DataModel"),
    ],
)
def test_bad_input(changes: dict[str, Any], message: str) -> None:
    given: dict[str, Any] = {"model": MODEL, "n_records": 50, "epsilon": 1, "delta": "0.1"}
    given |= changes
    model = given.pop("model")
    with pytest.raises(sd.errors.InvalidParameter, match=message):
        sd.smoothed.largest_sample(model, **given)


def test_no_size() -> None:
    with pytest.raises(sd.errors.InvalidParameter, match="at least one size"):
        sd.smoothed.smoothed_by_size(MODEL, sizes=[], sampling_rate="0.9", epsilon=1)
