"""The mean of skewed data: rows are mapped one by one, and both parts keep the guarantee."""

from __future__ import annotations

import math
import re
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import smoothdp as sd
from smoothdp.claims.guarantees.guarantee import Guarantee
from smoothdp.claims.guarantees.parts import part_of
from smoothdp.errors import IncompatibleClaims, InvalidParameter
from smoothdp.exact.random.entropy import SeededRandom
from smoothdp.mechanisms import SkewedNoise
from smoothdp.mechanisms.fixed.skewed_noise import HEIGHT_SHARE
from smoothdp.queries import ClampedMean, SkewedMean

PROMISES: list[Guarantee] = [
    sd.PureDP(1, neighbours="add_remove"),
    sd.PureDP("ln(3)", neighbours="add_remove"),
    sd.ApproxDP("1/2", delta="1e-6", neighbours="add_remove"),
    sd.ZCDP("1/2", neighbours="add_remove"),
]


def skewed(n: int, seed: int = 5) -> np.ndarray[Any, np.dtype[np.float64]]:
    return np.random.default_rng(seed).lognormal(10, 1, n)


def test_rows_are_mapped_one_by_one() -> None:
    """A row's logarithm does not depend on where it stands, nor on the other rows."""
    query = SkewedMean((-3, 10**6))
    rows = np.concatenate([skewed(1003), [-1e300, -3.0, 0.0, 1e300, 5e-324], np.arange(50.0)])
    together = query.logarithms(rows)
    alone = [query.logarithms(np.array([x]))[0] for x in rows]
    assert together.tolist() == alone
    assert query.logarithms(rows[::-1]).tolist() == alone[::-1]
    least, most = query.log_bounds
    assert all(least <= Fraction(y) <= most for y in alone)


@pytest.mark.parametrize("promise", PROMISES, ids=repr)
def test_both_parts_add_up_to_the_guarantee(promise: Guarantee) -> None:
    mechanism = SkewedNoise(SkewedMean((0, 10**7)), promise)
    first = mechanism.height_mechanism().guarantee
    second = mechanism.mean_mechanism(ClampedMean((0, 3))).guarantee
    assert first == part_of(promise, HEIGHT_SHARE)
    assert second == part_of(promise, 1 - HEIGHT_SHARE)
    for name in promise.parameter_names:
        whole, *parts = (g.parameters()[name] for g in (promise, first, second))
        assert float(sum(map(Fraction, map(float, parts)))) <= float(whole) * (1 + 1e-12)
    assert mechanism.guarantee == promise
    # The noise of the second part is the same whatever the height.
    laws = {
        mechanism.mean_mechanism(mechanism.query.clipped_at(Fraction(h))).law
        for h in (1e-1, 3, 10**7)
    }
    assert len(laws) == 1


@pytest.mark.parametrize("promise", PROMISES, ids=repr)
def test_it_is_near_and_its_bars_cover_the_clipped_mean(promise: Guarantee) -> None:
    rows = skewed(4000)
    covered = 0
    for seed in range(20):
        released: Any = sd.release(
            rows,
            SkewedMean((0, 10**9)),
            guarantee=promise,
            confidence="0.9",
            rng=SeededRandom(seed),
        )
        assert released.guarantee == promise
        assert released.value == pytest.approx(rows.mean(), rel=0.25)
        found = re.search(r"\[0, ([0-9.e+]+)\]", released.covers)
        assert found is not None
        height = float(found[1])
        truth = np.minimum(rows, height).mean()
        # The words round the height to six digits.
        slack = 1e-5 * truth
        low, high = released.interval
        covered += low - slack <= truth <= high + slack
        assert "the mean of clipped values, not the plain one" in released.covers
    # 90% at least each: fewer than 11 of 20 has a probability below 1e-5.
    assert covered >= 11


def test_far_too_wide_bounds_cost_little() -> None:
    """At bounds 1,000 times too wide two sums of the plain values have 30 times the error."""
    rows = skewed(4000)
    promise = PROMISES[0]

    def error(query: SkewedMean | ClampedMean) -> float:
        found = [
            sd.release(rows, query, guarantee=promise, rng=SeededRandom(seed)).value
            for seed in range(12)
        ]
        return math.sqrt(sum((value - rows.mean()) ** 2 for value in found) / len(found))

    assert 10 * error(SkewedMean((0, 10**9))) < error(ClampedMean((0, 10**9)))


@pytest.mark.parametrize("rows", [[], [None, "x", math.nan], [math.inf], [10**400, -5]])
def test_no_row_is_refused(rows: list[object]) -> None:
    released: Any = sd.release(
        rows, SkewedMean((0, 100)), guarantee=PROMISES[0], confidence="0.9", rng=SeededRandom(1)
    )
    assert 0 <= released.value <= 100
    assert 0 <= released.interval[0] <= released.interval[1] <= 100
    assert "expect an error of the order of the bounds" in released.mechanism


def test_a_low_bound_other_than_zero() -> None:
    rows = 500 + skewed(4000)
    released = sd.release(
        rows, SkewedMean((500, 10**8)), guarantee=sd.PureDP(5, neighbours="add_remove")
    )
    assert released.value == pytest.approx(rows.mean(), rel=0.1)


def test_refusals() -> None:
    with pytest.raises(IncompatibleClaims, match="adding or removing a record"):
        sd.release([1.0], SkewedMean((0, 1)), guarantee=sd.PureDP(1))
    with pytest.raises(InvalidParameter, match="1e-250"):
        SkewedMean((0, "1e-260"))
    with pytest.raises(InvalidParameter, match="no n_guess for"):
        sd.release([1.0], SkewedMean((0, 1)), guarantee=PROMISES[0], n_guess=10)


def test_a_height_lies_within_the_scale_whatever_exponentials_round_to() -> None:
    beyond = 0
    for width in range(1, 200):
        query = SkewedMean((0, width))
        least, most = query.log_bounds
        heights = [query.height(end) for end in (least - 1, least, most, most + 1)]
        assert all(Fraction(width, 10**8) <= height <= width for height in heights)
        beyond += math.exp(float(most)) > width
    assert beyond > 20
