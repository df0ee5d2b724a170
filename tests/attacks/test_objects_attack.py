"""Attacks on objects that carry a guarantee."""

from __future__ import annotations

import dataclasses
import math
from fractions import Fraction
from math import comb
from typing import Any

import pytest

import smoothdp as sd

AGES = [20 + i % 50 for i in range(200)]


def released(**options: Any) -> sd.claims.Release[Any]:
    return sd.release(
        AGES, sd.queries.Median((0, 120)), guarantee=sd.PureDP(1), clamp=True, **options
    )


def test_json_with_a_key_twice_is_refused() -> None:
    text = sd.ApproxDP(1, delta="1e-6").to_json()[:-1] + ', "delta": "0"}'
    with pytest.raises(sd.errors.InvalidData):
        sd.guarantee_from_json(text)


def _plan_bars() -> Any:
    plan = sd.plan(sd.queries.Median((0, 120)), guarantee=sd.PureDP(1), n_records=1000)
    return plan.mechanism(confidence="0.95")


def test_error_bars_of_no_width_are_refused() -> None:
    """No privacy is lost, but a 0.95 interval of width 0 covers nothing."""
    mechanism = _plan_bars()
    with pytest.raises(sd.errors.SmoothdpError):
        dataclasses.replace(mechanism, bars=dataclasses.replace(mechanism.bars, factor=0.0))


@pytest.mark.parametrize("field", ["cost", "spread"])
def test_error_bars_that_cost_less_are_refused(field: str) -> None:
    mechanism = _plan_bars()
    less = dataclasses.replace(mechanism.bars, **{field: Fraction(1, 1000)})
    with pytest.raises(sd.errors.SmoothdpError):
        dataclasses.replace(mechanism, bars=less)


# ---- protocols by enumeration ---------------------------------------------------------------


def hockey_stick(p: dict[Any, Fraction], q: dict[Any, Fraction], factor: float) -> float:
    return math.fsum(max(0.0, float(p[k]) - factor * float(q.get(k, 0))) for k in p)


def binomial(n: int, rate: Fraction) -> dict[int, Fraction]:
    return {k: comb(n, k) * rate**k * (1 - rate) ** (n - k) for k in range(n + 1)}


def added(*laws: dict[int, Fraction]) -> dict[int, Fraction]:
    total: dict[int, Fraction] = {0: Fraction(1)}
    for law in laws:
        new: dict[int, Fraction] = {}
        for a, x in total.items():
            for b, y in law.items():
                new[a + b] = new.get(a + b, Fraction(0)) + x * y
        total = new
    return total


@pytest.mark.parametrize("n_users", [2, 7])
@pytest.mark.parametrize("expected", ["1/2", "3/2"])
def test_boolean_sum_by_enumeration(n_users: int, expected: str) -> None:
    protocol = sd.shuffle.BooleanSum(n_users, expected_random_users=expected)
    flip = protocol.flip_probability
    for epsilon in (0.0, 0.5, 2.0):
        truth = 0.0
        for ones in range(n_users):
            others = added(binomial(ones, 1 - flip), binomial(n_users - 1 - ones, flip))
            no, yes = (added(others, binomial(1, rate)) for rate in (flip, 1 - flip))
            for p, q in ((no, yes), (yes, no)):
                truth = max(truth, hockey_stick(p, q, math.exp(epsilon)))
        found = protocol.profile().delta(epsilon)
        assert truth * (1 - 1e-12) <= found <= truth * (1 + 1e-9) + 1e-15
        if truth > 0:
            with pytest.raises(sd.errors.SmoothdpError):
                sd.shuffle.BooleanSum(
                    n_users,
                    expected_random_users=expected,
                    promise=sd.ApproxDP(epsilon, delta=truth * (1 - 1e-6)),
                )


@pytest.mark.parametrize("n_users", [1, 6])
@pytest.mark.parametrize("omitted", ["1/2", "1/20"])
def test_zero_preserving_protocols_by_enumeration(n_users: int, omitted: str) -> None:
    noise = binomial(n_users, 1 - Fraction(omitted))
    moved = {k + 1: mass for k, mass in noise.items()}
    first = {(a + 1, b): x * y for a, x in noise.items() for b, y in noise.items()}
    second = {(a, b + 1): x * y for a, x in noise.items() for b, y in noise.items()}
    count = sd.shuffle.ZeroPreservingCount(n_users, omission_probability=omitted)
    histogram = sd.shuffle.Histogram(n_users, n_bins=3, omission_probability=omitted)
    for epsilon in (0.0, 0.3, 2.5):
        factor = math.exp(epsilon)
        one = max(hockey_stick(noise, moved, factor), hockey_stick(moved, noise, factor))
        two = max(hockey_stick(first, second, factor), hockey_stick(second, first, factor))
        assert count.profile().delta(epsilon) >= one * (1 - 1e-12)
        assert histogram.profile().delta(epsilon) >= two * (1 - 1e-12)
        for make, truth in (
            (
                lambda g: sd.shuffle.ZeroPreservingCount(
                    n_users, omission_probability=omitted, promise=g
                ),
                one,
            ),
            (
                lambda g: sd.shuffle.Histogram(
                    n_users, n_bins=3, omission_probability=omitted, promise=g
                ),
                two,
            ),
        ):
            if 0 < truth < 1:
                with pytest.raises(sd.errors.SmoothdpError):
                    make(sd.ApproxDP(epsilon, delta=truth * (1 - 1e-6)))
