"""A second round of attacks from the claims alone; each says what holds since."""

from __future__ import annotations

import copy
import math
import pickle
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import smoothdp as sd
from tests.checkers.windows import smooth


def through_pickle(given: Any, field: str, value: Any) -> Any:
    """Return what a pickle with one field edited is read as."""
    edited = copy.copy(given)
    object.__setattr__(edited, field, value)
    return pickle.loads(pickle.dumps(edited))


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("exact_shift", Fraction(1000)),
        ("exact_shift", Fraction(-1)),
        ("guarantee", sd.PureDP("1e-3")),
        ("guarantee", sd.ZCDP("1e-6")),
        ("smoothing", Fraction(-1)),
        ("law", sd.noise.Gaussian()),
    ],
    ids=repr,
)
def test_no_pickle_of_a_calibration_states_what_is_not_kept(field: str, value: Any) -> None:
    """`dataclasses.replace` is checked; a pickle of the calibration or mechanism was not."""
    mechanism = sd.mechanisms.SmoothNoise.calibrate(
        sd.queries.Mean((0, 100)), guarantee=sd.PureDP(1), n_records=11
    )
    with pytest.raises((sd.errors.SmoothdpError, TypeError)):
        through_pickle(mechanism.calibration, field, value)
    edited = copy.copy(mechanism.calibration)
    object.__setattr__(edited, field, value)
    with pytest.raises((sd.errors.SmoothdpError, TypeError)):
        through_pickle(mechanism, "calibration", edited)


def test_a_mechanism_from_an_edited_pickle_keeps_its_promise() -> None:
    """It said PureDP(1); two databases gave outputs whose distance told the last record."""
    mechanism = sd.mechanisms.SmoothNoise.calibrate(
        sd.queries.Mean((0, 100)), guarantee=sd.PureDP(1), n_records=11
    )
    edited = copy.copy(mechanism.calibration)
    object.__setattr__(edited, "exact_shift", Fraction(10**6))
    try:
        read = through_pickle(mechanism, "calibration", edited)
    except (sd.errors.SmoothdpError, TypeError):
        return
    seen = {
        last: [read.release([50.0] * 10 + [last], rng=sd.SeededRandom(k)).value for k in range(40)]
        for last in (0.0, 100.0)
    }
    assert read.guarantee != sd.PureDP(1) or max(seen[0.0]) > min(seen[100.0])


@pytest.mark.parametrize(
    ("field", "value"),
    [("cost", Fraction(0)), ("spread", Fraction(1, 10**6)), ("factor", 0.0), ("factor", math.nan)],
    ids=repr,
)
def test_no_pickle_of_error_bars_states_what_is_not_kept(field: str, value: Any) -> None:
    plan = sd.plan(sd.queries.Median((0, 120)), guarantee=sd.PureDP(1), n_records=1000)
    mechanism = smooth(plan, confidence="0.95")
    edited = copy.copy(mechanism.bars)
    object.__setattr__(edited, field, value)
    with pytest.raises((sd.errors.SmoothdpError, TypeError)):
        through_pickle(mechanism, "bars", edited)


DISJOINT = sd.Pair([0.0, -math.inf], [-math.inf, 0.0])
COIN = sd.Pair([math.log(0.5), math.log(0.5)], [math.log(0.25), math.log(0.75)])


@pytest.mark.parametrize(
    "items",
    [
        [(DISJOINT, 2)],
        [DISJOINT, COIN],
        [sd.compose([(COIN, 2)]), DISJOINT],
        [
            sd.Pair([0.0, -math.inf], [math.log(0.5), math.log(0.5)]),
            sd.Pair([math.log(0.5), math.log(0.5)], [0.0, -math.inf]),
        ],
    ],
    ids=["twice", "with_coin", "nested", "half"],
)
def test_what_tells_everything_composes(items: list[Any]) -> None:
    """Laws without a common outcome: delta is 1 (IndexError); the last is plainly below 1."""
    for orientation in (None, "common"):
        lower, upper = sd.compose(items, orientation=orientation).delta_bounds(1)
        assert 0 <= lower <= upper <= 1
        if DISJOINT in items or items[0] == (DISJOINT, 2):
            assert upper >= 1 - 1e-12


class Read(sd.queries.Mean):
    """A query with its own way of reading, which raises or leaves records out."""

    def read(self, data: Any) -> Any:
        if data[-1] > 10:
            raise ValueError(f"record {data[-1]}")
        return super().read(data)


def test_own_reading_is_charged_or_refused(tmp_path: Path) -> None:
    """``read`` of a subclass sees the records before the charge; its text leaves, for nothing."""
    ledger = sd.Ledger(tmp_path / "l.db", budget=sd.PureDP(5))
    with pytest.raises(BaseException) as caught:
        sd.release([1.0, 73.515625], Read((0, 10)), guarantee=sd.PureDP(1), ledger=ledger)
    assert "73.515625" not in str(caught.value)


class Filtered(sd.queries.Mean):
    """The mean of the records inside the bounds: their number is private."""

    def read(self, data: Any) -> Any:
        return super().read([x for x in data if x <= 10])


def test_own_reading_does_not_make_the_noise_private() -> None:
    """One of two records left out: the grid, hence the words, told whether (no noise)."""
    said = set()
    for last in (5.0, 11.0):
        try:
            found = sd.release([5.0, last], Filtered((0, 10)), guarantee=sd.PureDP(1))
        except sd.errors.InvalidParameter:
            return
        said.add(found.mechanism)
    assert len(said) == 1


class Contradiction:
    guarantee = sd.PureDP(0)

    def __init__(self, profile: Any) -> None:
        self.profile = profile

    def release(self) -> int:
        return 1


@pytest.mark.parametrize(
    "profile", [sd.PureDP(3).profile(), lambda: sd.PureDP(3)], ids=["attribute", "guarantee"]
)
def test_a_profile_of_another_form_is_compared_or_refused(tmp_path: Path, profile: Any) -> None:
    ledger = sd.Ledger(tmp_path / "l.db", budget=sd.PureDP(1))
    with pytest.raises(sd.errors.SmoothdpError):
        ledger.charge(Contradiction(profile))
