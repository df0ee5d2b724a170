"""Several quantiles under pure DP: what a caller meets; privacy and laws are in tests/theorems."""

from __future__ import annotations

import pickle
from fractions import Fraction
from typing import Any

import pytest

import smoothdp as sd
from smoothdp.exact.random.entropy import SeededRandom
from smoothdp.mechanisms.quantiles.joint.joint_rule import pure_mechanism
from smoothdp.mechanisms.quantiles.joint.poly_place_quantiles import JointPolyPlaceQuantiles
from smoothdp.mechanisms.quantiles.joint.sized_exponential import SizedExponentialQuantiles

QUARTERS = [0.25, 0.5, 0.75]
ONE = sd.PureDP(1)
BOUNDS = (0, 100)
KINDS = (JointPolyPlaceQuantiles, SizedExponentialQuantiles)
Kind = type[JointPolyPlaceQuantiles] | type[SizedExponentialQuantiles]


def made(kind: Kind, n: int = 3001, **changes: Any) -> Any:
    given = {"bounds": BOUNDS, "guarantee": ONE, "n_records": n, **changes}
    return kind.calibrate(given.pop("levels", QUARTERS), **given)


def ages(n: int) -> list[float]:
    return [20 + 60 * (i / n) ** 2 for i in range(n)]


@pytest.mark.parametrize("kind", KINDS)
def test_values_rise_within_the_bounds_and_near_the_quantiles(kind: Kind) -> None:
    mechanism = made(kind)
    assert mechanism.guarantee == ONE
    assert mechanism.profile().delta(1) == 0
    data = ages(3001)
    rng = SeededRandom(1)
    for _ in range(5):
        values = mechanism.release(data, rng=rng)
        assert type(values) is tuple
        assert list(values) == sorted(values)
        for value, truth in zip(values, (23.75, 35.0, 53.75), strict=True):
            assert type(value) is float
            assert abs(value - truth) < 3
    assert "quantiles 0.25, 0.5, 0.75" in mechanism.describe()
    again = pickle.loads(pickle.dumps(mechanism))
    assert again == mechanism
    assert again.release(data, rng=SeededRandom(2)) == mechanism.release(data, rng=SeededRandom(2))


@pytest.mark.parametrize("kind", KINDS)
def test_a_step_gives_its_multiples(kind: Kind) -> None:
    whole = made(kind, step=5).release(ages(3001))
    assert all(type(value) is int and value % 5 == 0 for value in whole)
    tenths = made(kind, step=Fraction(1, 4)).release(ages(3001))
    assert all(type(value) is float and value * 4 == int(value * 4) for value in tenths)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"levels": []}, "1 to 1000 levels"),
        ({"levels": "0.5"}, "1 to 1000 levels"),
        ({"levels": [0, "0.5"]}, "both excluded"),
        ({"levels": [0.5, 0.25]}, "rising levels"),
        ({"levels": [0.5, "1/2"]}, "rising levels"),
        ({"guarantee": sd.ZCDP(1)}, "PureDP"),
        ({"guarantee": sd.ApproxDP(1, delta="1e-6")}, "PureDP"),
        ({"guarantee": sd.PureDP(0)}, "epsilon > 0"),
        ({"guarantee": "1"}, "PureDP"),
        ({"bounds": (1, 1)}, "lower bound < upper bound"),
        ({"n_records": 0}, "n_records"),
    ],
)
def test_wrong_arguments_are_refused(kind: Kind, changes: dict[str, Any], words: str) -> None:
    with pytest.raises(sd.errors.InvalidParameter, match=words):
        made(kind, **changes)


@pytest.mark.parametrize("kind", KINDS)
def test_a_private_number_of_records_is_refused(kind: Kind) -> None:
    with pytest.raises(sd.errors.IncompatibleClaims, match="replacing one record"):
        made(kind, guarantee=sd.PureDP(1, neighbours="add_remove"))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("data", [[1.0] * 3000, [float("nan")] * 3001, ["a"] * 3001, 7])
def test_wrong_data_are_refused(kind: Kind, data: object) -> None:
    mechanism = made(kind)
    for call in (mechanism.read, mechanism.release):
        with pytest.raises(sd.errors.InvalidData):
            call(data)


@pytest.mark.parametrize("kind", KINDS)
def test_values_that_repeat_or_lie_outside(kind: Kind) -> None:
    mechanism = made(kind, n=401, levels=["1/2"])
    for data in ([7.0] * 401, [-1e9] * 401, [1e9] * 401, [0.0, 100.0] * 200 + [1.0]):
        (value,) = mechanism.release(data, rng=SeededRandom(3))
        assert 0 <= value <= 100


def test_levels_are_exact_decimals() -> None:
    # In floats 0.07 * 100 exceeds 7, and 0.29 * 100 is below 29.
    mechanism = made(SizedExponentialQuantiles, n=100, levels=[0.07, 0.29])
    assert mechanism.targets == (7, 29)


def test_joint_noise_says_what_it_needs() -> None:
    deciles = [k / 10 for k in range(1, 10)]
    with pytest.raises(sd.errors.InvalidParameter, match="JointExponentialQuantiles"):
        made(JointPolyPlaceQuantiles, n=1000, levels=deciles)


def test_a_refusal_for_size_depends_on_public_numbers() -> None:
    many = [Fraction(k, 100) for k in range(1, 100)]
    with pytest.raises(sd.errors.OutOfReach, match="fewer levels"):
        made(SizedExponentialQuantiles, n=10**7, levels=many)


def test_pure_mechanism_takes_the_one_of_the_rule() -> None:
    deciles = [k / 10 for k in range(1, 10)]
    small = pure_mechanism(deciles, BOUNDS, 1000, ONE)
    large = pure_mechanism(deciles, BOUNDS, 10_000, ONE, 1)
    assert type(small) is SizedExponentialQuantiles
    assert type(large) is JointPolyPlaceQuantiles
    assert len(small.release(ages(1000))) == len(large.release(ages(10_000))) == 9


def test_a_logarithm_as_epsilon_keeps_its_claim() -> None:
    three = sd.PureDP("ln(3)")
    for kind in KINDS:
        assert made(kind, guarantee=three).guarantee == three
    assert 4 * made(SizedExponentialQuantiles, guarantee=three).rate < Fraction("1.0986123")


def test_the_public_class() -> None:
    quartiles = sd.JointExponentialQuantiles(QUARTERS, bounds=BOUNDS, guarantee=ONE)
    released = quartiles.release(ages(1001), round_to=1, rng=SeededRandom(4))
    assert released.guarantee == quartiles.guarantee == ONE
    assert not released.is_private
    assert "NOT PRIVATE" in released.sentence()
    assert all(type(value) is int for value in released.value)
    assert sd.compose([quartiles, quartiles]).epsilon(0) <= 2 + 1e-9
    with pytest.raises(sd.errors.InvalidParameter, match="one target for each"):
        quartiles.rmse(ages(1001), target=3)
    close = quartiles.rmse(ages(1001))
    assert close < quartiles.rmse(ages(1001), target=[0, 0, 0])
    assert close > sd.JointExponentialQuantiles(
        QUARTERS, bounds=BOUNDS, guarantee=sd.PureDP(4)
    ).rmse(ages(1001))
