"""docs/proofs/subsampled-steps.md, statement 6: sums of small laws, exactly."""

from __future__ import annotations

import random
from collections import defaultdict
from fractions import Fraction

import numpy as np
import pytest

from smoothdp.training_runs.doubled_sums import Sums, _merged, _spread, sums_around
from smoothdp.types import FloatArray

Law = dict[Fraction, Fraction]


def exact(law: Law, count: int) -> Law:
    total: Law = {Fraction(0): Fraction(1)}
    for _ in range(count):
        found: defaultdict[Fraction, Fraction] = defaultdict(Fraction)
        for x, p in total.items():
            for y, q in law.items():
                found[x + y] += p * q
        total = dict(found)
    return total


def means(law: Law, strike: Fraction) -> tuple[Fraction, Fraction]:
    """The means of (S - k)_+ and of (1 - S / k)_+."""
    zero = Fraction(0)
    rising = sum((p * max(zero, x - strike) for x, p in law.items()), zero)
    falling = sum((p * max(zero, 1 - x / strike) for x, p in law.items()), zero)
    return rising, falling


def as_law(sums: Sums) -> Law:
    found: defaultdict[Fraction, Fraction] = defaultdict(Fraction)
    for x, p in zip(sums.points.tolist(), sums.masses.tolist(), strict=True):
        found[Fraction(x)] += Fraction(p)
    return dict(found)


def of(law: Law) -> Sums:
    points = np.array([float(x) for x in law])
    return Sums(points, np.array([float(p) for p in law.values()]), 1, 0.0, 0.0, 0.0, 0.0)


def random_law(draw: random.Random) -> Law:
    """Three points of mean 1 and dyadic masses, in doubles without rounding."""
    low, high = Fraction(draw.randint(0, 15), 16), Fraction(draw.randint(17, 90), 16)
    part = Fraction(draw.randint(1, 63), 64)
    # One mass at 1, the others such that the mean is 1, as nearly as 40 bits can.
    share = Fraction(round((1 - low) / (high - low) * 2**40), 2**40)
    return {low: part * (1 - share), Fraction(1): 1 - part, high: part * share}


def cells(draw: random.Random, last: float) -> FloatArray:
    inner = sorted({round(draw.uniform(0, last), 2) for _ in range(6)} - {0.0})
    return np.array([0.0, *inner, last])


@pytest.mark.parametrize("seed", range(12))
def test_sums_of_finite_laws_lie_between(seed: int) -> None:
    draw = random.Random(seed)
    law = random_law(draw)
    top = float(max(law))
    above = below = of(law)
    for count in (2, 4):
        points = cells(draw, 2 * max(above.points[-1], below.points[-1]) + 1)
        above, below = _spread(above, above, points), _merged(below, below, points)
        both = means(exact(law, count), Fraction(count))
        assert above.copies == count
        # The terms are off by less than a thousandth of what the cells are.
        assert above.error < 1e-10 > above.shift
        assert (
            means(as_law(below), Fraction(count)) != both != means(as_law(above), Fraction(count))
        )
        for strike in (Fraction(k, 3) for k in range(1, 12)):
            truth = means(exact(law, count), strike)
            for found, side in ((above, 1), (below, -1)):
                grown = 1 + side * Fraction(3 * (found.error + found.shift))
                for value, true in zip(means(as_law(found), strike), truth, strict=True):
                    slack = Fraction(1, 10**9) * 8
                    assert side * (value * grown - true) >= -slack
    odd_points = cells(draw, float(above.points[-1]) + top + 1)
    odd = _spread(above, of(law), odd_points), _merged(below, of(law), odd_points)
    for strike in (Fraction(7, 2), Fraction(5), Fraction(8)):
        truth = means(exact(law, 5), strike)
        for place in (0, 1):
            assert means(as_law(odd[1]), strike)[place] <= truth[place] + Fraction(1, 10**8)
            assert truth[place] <= means(as_law(odd[0]), strike)[place] + Fraction(1, 10**8)


def test_what_is_lost_counts() -> None:
    """Points that end too soon: with what is lost the law above is above, without it it is not."""
    law = {Fraction(0): Fraction(1, 2), Fraction(2): Fraction(1, 2)}
    points = np.array([0.0, 1.0, 3.0])
    two = _spread(of(law), of(law), points)
    four = _spread(two, two, np.array([0.0, 2.0, 4.0, 5.0]))
    truth = means(exact(law, 4), Fraction(4))
    found = means(as_law(four), Fraction(4))
    assert found[0] < truth[0] <= found[0] + Fraction(four.lost_mean)
    assert truth[1] <= found[1] + Fraction(four.lost)
    total = sum(as_law(four).values(), Fraction(0))
    assert total < 1 <= total + Fraction(four.lost)
    mean = sum((x * p for x, p in as_law(four).items()), Fraction(0))
    assert mean < 4 <= mean + Fraction(four.lost_mean)


def test_the_example_of_the_page() -> None:
    law = {Fraction(0): Fraction(1, 2), Fraction(2): Fraction(1, 2)}
    points = np.array([0.0, 1.0, 3.0, 5.0])
    above, below = _spread(of(law), of(law), points), _merged(of(law), of(law), points)
    assert above.masses.tolist() == [1 / 4, 1 / 4, 3 / 8, 1 / 8]
    assert (below.points.tolist(), below.masses.tolist()) == ([0, 2, 4], [1 / 4, 1 / 2, 1 / 4])


@pytest.mark.parametrize("mu", [Fraction(1, 10**5), Fraction(3)])
def test_means_are_kept(mu: Fraction) -> None:
    above, below = sums_around(mu, 2)
    assert float(above.masses @ above.points) == pytest.approx(2, rel=1e-12)
    assert float(below.masses @ below.points) == pytest.approx(2, rel=1e-12)
    assert float(above.masses.sum()) == pytest.approx(1, rel=1e-12)
