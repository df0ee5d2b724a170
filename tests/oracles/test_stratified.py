"""Stratified tables against the joint law of all strata, listed."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product
from typing import Any

import pytest

import smoothdp as sd
from smoothdp.testing import oracles

pytestmark = pytest.mark.filterwarnings("ignore:A distribution of the model")
SIZES, DRAWS, M = (4, 5), (2, 3), 2
GROWTH = Fraction(13, 10)
EPSILON = "ln(13/10)"


def table() -> sd.mechanisms.StratifiedHistogram:
    strata = [sd.SamplingHistogram(n, n_draws=k) for n, k in zip(SIZES, DRAWS, strict=True)]
    return sd.mechanisms.StratifiedHistogram(strata)


def joint_law(databases: tuple[oracles.Database, ...]) -> dict[Any, Fraction]:
    laws = [oracles.law_without_replacement(x, M, k) for x, k in zip(databases, DRAWS, strict=True)]
    return {(a, b): p * q for (a, p), (b, q) in product(laws[0].items(), laws[1].items())}


def literal_delta(databases: tuple[oracles.Database, ...]) -> Fraction:
    """The largest hockey stick over all replacements of one record within its stratum."""
    here = joint_law(databases)
    worst = Fraction(0)
    for place, x in enumerate(databases):
        for moved in oracles.neighbours_of(x, M):
            other = list(databases)
            other[place] = moved
            there = joint_law(tuple(other))
            for p, q in ((here, there), (there, here)):
                worst = max(worst, oracles.hockey_stick(p, q, GROWTH))
    return worst


@pytest.mark.parametrize("first", range(SIZES[0] + 1))
@pytest.mark.parametrize("second", range(SIZES[1] + 1))
def test_delta_of_all_tables(first: int, second: int) -> None:
    counts = [(first, SIZES[0] - first), (second, SIZES[1] - second)]
    truth = literal_delta(tuple(oracles.database(part) for part in counts))
    lower, upper = table().at(counts).delta_bounds(EPSILON)
    assert Fraction(lower) <= truth <= Fraction(upper)
    assert upper - lower < 1e-13


def test_smoothed_delta_of_all_tables() -> None:
    """The bracket holds E max over strata, and each end is what it says."""
    shares = (Fraction(2, 5), Fraction(1, 4))
    models = [sd.DataModel([(p, 1 - p)]) for p in shares]
    values = {
        pair: literal_delta(
            tuple(oracles.database((h, n - h)) for h, n in zip(pair, SIZES, strict=True))
        )
        for pair in product(range(SIZES[0] + 1), range(SIZES[1] + 1))
    }

    def chance(h: int, n: int, p: Fraction) -> Fraction:
        return math.comb(n, h) * p**h * (1 - p) ** (n - h)

    truth = sum(
        chance(a, SIZES[0], shares[0]) * chance(b, SIZES[1], shares[1]) * value
        for (a, b), value in values.items()
    )
    result = sd.smoothed.smoothed_strata(table(), models, epsilon=EPSILON)
    assert result.lower <= truth <= result.delta
    assert result.lower == max(part.lower for part in result.strata.values())
    cap = float(max(Fraction(k, n) for k, n in zip(DRAWS, SIZES, strict=True)))
    total = math.fsum(part.delta for part in result.strata.values())
    assert result.delta == pytest.approx(min(cap, total), rel=1e-12)


def test_one_large_stratum_dominates() -> None:
    strata = {
        "small": sd.SamplingHistogram(300, n_draws=200),
        "large": sd.SamplingHistogram(30_000, n_draws=20_000),
    }
    model = sd.DataModel([("0.4", "0.6")])
    result = sd.smoothed.smoothed_strata(
        sd.mechanisms.StratifiedHistogram(strata), model, epsilon=1
    )
    assert result.delta == pytest.approx(result.strata["small"].delta, rel=1e-12)
    assert result.strata["large"].log_delta < -1000


def test_release_draws_every_stratum() -> None:
    strata = sd.mechanisms.StratifiedHistogram(
        {
            "north": sd.SamplingHistogram(60, n_draws=30),
            "south": sd.BernoulliHistogram(40, keep_probability="0.5"),
        }
    )
    counts = {"south": [15, 25], "north": [20, 40]}
    release = strata.release(counts=counts)
    assert release.is_private
    assert sum(release.value["north"]) == 30
    assert sum(release.value["south"]) <= 40
    assert release.guarantee == sd.ApproxDP(0, delta=Fraction(1, 2))
    marked = strata.release(counts=counts, rng=sd.SeededRandom(1))
    assert not marked.is_private
    assert marked.value == strata.release(counts=counts, rng=sd.SeededRandom(1)).value
    assert "north: histogram of 30 of 60" in strata.describe()


def test_bad_input() -> None:
    with pytest.raises(sd.errors.InvalidParameter, match="at least one stratum"):
        sd.mechanisms.StratifiedHistogram([])
    with pytest.raises(sd.errors.InvalidParameter, match="int for 'stratum 1'"):
        sd.mechanisms.StratifiedHistogram([3])  # type: ignore[list-item]
    strata = table()
    with pytest.raises(sd.errors.InvalidData, match="counts of 2 strata; got 1"):
        strata.at([(2, 2)])
    with pytest.raises(sd.errors.InvalidData, match="counts of the strata stratum 1, stratum 2"):
        strata.release(counts={"stratum 1": (2, 2)})
    with pytest.raises(sd.errors.InvalidData, match="add up to 5"):
        strata.release(counts=[(2, 2), (2, 2)])
    models = [sd.DataModel([("0.4", "0.6")])]
    with pytest.raises(sd.errors.InvalidParameter, match="a model for each of the strata"):
        sd.smoothed.smoothed_strata(strata, models, epsilon=1)
    with pytest.raises(sd.errors.InvalidParameter, match="a model for each of the strata"):
        sd.smoothed.smoothed_strata(strata, {"stratum 1": models[0], "other": models[0]}, epsilon=1)
