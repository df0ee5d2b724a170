"""Error bars of histograms: their coverage, exactly, over all data of small collections."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from smoothdp.claims import ApproxDP
from smoothdp.errors import InvalidParameter
from smoothdp.exact.random.entropy import SeededRandom
from smoothdp.shuffle import Histogram, HistogramEstimate, LowCommunicationHistogram
from smoothdp.shuffle.histogram.bars import OmittedBits, log_side
from tests.checkers.rationals import binomial_law

HALF, THIRD = Fraction(1, 2), Fraction(1, 3)


def counts_of(n: int, d: int) -> Iterator[tuple[int, ...]]:
    """All true counts of n users in d bins."""
    for first in itertools.combinations_with_replacement(range(d), n):
        yield tuple(first.count(index) for index in range(d))


def coverage(
    protocol: Any,
    counts: tuple[int, ...],
    confidence: Fraction,
    *,
    silent: int = 0,
    tolerated: int = 0,
    chosen: int | None = None,
) -> Fraction:
    """The probability that all bars (or one) hold; ``counts`` are those of who is not silent."""
    n, honest = protocol.n_users, protocol.n_users - silent
    law = binomial_law(honest, protocol.noise_share)
    total = Fraction(0)
    for noise in itertools.product(range(honest + 1), repeat=protocol.n_bins):
        seen = np.array([s + v for s, v in zip(counts, noise, strict=True)])
        estimate = protocol._estimated(seen, tolerated)
        bars = estimate.bars(confidence, bin=chosen)
        bins = range(protocol.n_bins) if chosen is None else [chosen]
        if all(bars[index][0] <= counts[index] <= bars[index][1] for index in bins):
            total += math.prod((law[v] for v in noise), start=Fraction(1))
        for index, (low, high) in bars.listed.items():
            assert index in estimate.counts
            assert low >= 0
            assert high <= n
    return total


@pytest.mark.parametrize(
    ("n", "d", "gamma"), [(2, 2, HALF), (3, 2, THIRD), (3, 3, Fraction(1, 4)), (4, 2, HALF)]
)
@pytest.mark.parametrize("confidence", ["1/2", "4/5", "19/20"])
class TestCoverage:
    def test_of_rare_noise(self, n: int, d: int, gamma: Fraction, confidence: str) -> None:
        asked = Fraction(confidence)
        protocol = LowCommunicationHistogram(
            n, n_bins=d, noise_probability=gamma, false_positive="1/2"
        )
        for counts in counts_of(n, d):
            assert coverage(protocol, counts, asked) >= asked
            assert coverage(protocol, counts, asked, chosen=0) >= asked
        for counts in counts_of(n - 1, d):
            assert coverage(protocol, counts, asked, silent=1, tolerated=1) >= asked

    def test_of_omitted_noise(self, n: int, d: int, gamma: Fraction, confidence: str) -> None:
        asked = Fraction(confidence)
        protocol = Histogram(n, n_bins=d, omission_probability=gamma)
        for counts in counts_of(n, d):
            for tolerated in (0, 1):
                assert coverage(protocol, counts, asked, tolerated=tolerated) >= asked
            assert coverage(protocol, counts, asked, chosen=1) >= asked
        for counts in counts_of(n - 1, d):
            assert coverage(protocol, counts, asked, silent=1, tolerated=1) >= asked


@pytest.mark.parametrize("silent", [0, 1, 2, 3])
def test_silent_users_are_in_the_bars_that_tolerate_them(silent: int) -> None:
    """With three of four silent the noise is less than its quantile for four."""
    asked = Fraction(3, 4)
    rare = LowCommunicationHistogram(4, n_bins=1, noise_probability=HALF, false_positive="7/10")
    assert rare.threshold == 1
    assert coverage(rare, (4 - silent,), asked, silent=silent, tolerated=3) >= asked
    omitted = Histogram(4, n_bins=2, omission_probability=HALF)
    for counts in counts_of(4 - silent, 2) if silent <= 2 else ():
        assert coverage(omitted, counts, asked, silent=silent, tolerated=2) >= asked


def many_bins(protocol: Histogram, counts: tuple[int, ...], bars: Any, tolerated: int) -> Fraction:
    """The coverage where bins are too many to enumerate together: they are independent."""
    law, n = binomial_law(protocol.n_users, protocol.omission_probability), protocol.n_users
    mean, total = n * protocol.omission_probability, Fraction(1)
    for s in counts:
        inside = Fraction(0)
        for w, mass in enumerate(law):
            if s - w > -tolerated:
                ends = bars({0: float(s - w + mean)}).listed[0]
                inside += mass * (ends[0] <= s <= ends[1])
            else:
                inside += mass * (s <= bars({}).unlisted)
        total *= inside
    return total


def test_with_users_tolerated_all_bins_may_fail() -> None:
    """min(d, n) bins are not enough then: an empty bin may be listed, and its bar be wrong."""
    n, d, gamma, asked = 7, 1000, HALF, Fraction(4, 5)
    protocol = Histogram(n, n_bins=d, omission_probability=gamma)
    law = OmittedBits(n, d, gamma, 1)
    counts = (4, 3) + (0,) * (d - 2)
    right = many_bins(protocol, counts, lambda c: law.bars(c, 1 - asked, bin_index=None), 1)
    assert right >= asked
    few = OmittedBits(n, min(d, n), gamma, 1)
    wrong = many_bins(protocol, counts, lambda c: few.bars(c, 1 - asked, bin_index=None), 1)
    # An empty bin whose noise bits were all sent is listed, and its bar begins at 1.
    assert wrong < Fraction(1, 1000)
    free = OmittedBits(n, d, gamma, 0)
    for occupied in ((7,), (1,) * 7):
        counts = occupied + (0,) * (d - len(occupied))
        assert many_bins(
            protocol, counts, lambda c: free.bars(c, 1 - asked, bin_index=None), 0
        ) >= (asked)


def test_the_bars_of_the_flights_table() -> None:
    """n = 1e6, d = 100, 9/10 honest: -25.6 to +22.4 where +-48 covers the hidden counts too."""
    goal = ApproxDP(1, delta="1e-6")
    protocol = LowCommunicationHistogram.calibrate(10**6, n_bins=100, guarantee=goal)
    assert (protocol.slots_per_user, protocol.bytes_per_user) == (6, 312)
    estimate = protocol.simulate([10**4] * 100, rng=SeededRandom(1)).value
    bars, one = estimate.bars("0.95"), estimate.bars("0.95", bin=3)
    assert (round(bars.below, 1), round(bars.above, 1)) == (25.6, 22.4)
    assert (round(one.below, 1), round(one.above, 1)) == (13.6, 13.4)
    assert bars.unlisted == protocol.threshold - 25
    assert "at most 25.6 above the true one" in bars.sentence()
    assert set(one.listed) == {3}


def test_bars_that_are_not_there() -> None:
    with pytest.raises(InvalidParameter, match="made by hand"):
        HistogramEstimate(4, {1: 2.0}).bars("0.9")
    estimate = Histogram(9, n_bins=3, omission_probability="0.1").release([0] * 9).value
    for bad in (0, 1, 2, "x", math.nan):
        with pytest.raises(InvalidParameter, match="confidence"):
            estimate.bars(bad)
    for bad in (-1, 3, 1.5):
        with pytest.raises(InvalidParameter, match="domain"):
            estimate.bars("0.9", bin=bad)  # type: ignore[arg-type]


@pytest.mark.parametrize("failure", ["1/2", "1/20", "1e-12"])
@pytest.mark.parametrize("bins", [1, 7, 10**18])
def test_the_share_of_a_side(failure: str, bins: int) -> None:
    from mpmath import mp, mpf

    with mp.workdps(60):
        truth = mp.log(
            -mp.expm1(
                mp.log1p(-mpf(Fraction(failure).numerator) / Fraction(failure).denominator) / bins
            )
            / 2
        )
        found = log_side(Fraction(failure), bins)
        assert found <= truth <= found + 1e-9
