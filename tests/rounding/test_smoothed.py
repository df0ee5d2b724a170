"""The level of an interval by sampled databases: alpha is shared by sides and compositions."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import mpmath
import numpy as np
import pytest

import smoothdp as sd
from smoothdp.smoothed.interval import _interval

PAIR = sd.DataModel([("0.2", "0.3", "0.5"), ("0.4", "0.3", "0.3")])
# From the one with the largest delta on; all of 20 records.
COMPOSITIONS = [(20, 0), (17, 3), (12, 8), (0, 20)]


def interval(
    compositions: Sequence[tuple[int, int]], confidence: Fraction
) -> sd.smoothed.DeltaInterval:
    return sd.smoothed.smoothed_delta_interval(
        sd.SamplingHistogram(20, n_draws=10),
        PAIR,
        epsilon="0.5",
        n_databases=60,
        confidence=confidence,
        compositions=compositions,
        rng=sd.SeededRandom(3),
    )


@pytest.mark.parametrize("count", [2, 4])
def test_alpha_is_divided_among_the_compositions(count: int) -> None:
    """The first of k compositions has the interval that it has alone at 1 - alpha / k.

    It sees the same databases in both runs, so that the ends are equal to the last bit. At
    1 - alpha its interval is narrower: one of k such intervals would fail too often.
    """
    alpha = Fraction(1, 5)
    chosen = COMPOSITIONS[:count] if first_is_largest() else COMPOSITIONS[::-1][:count]
    together = interval(chosen, 1 - alpha)
    divided, alone = (interval(chosen[:1], 1 - share) for share in (alpha / count, alpha))
    assert together.vertex_counts == chosen[0]
    assert together.log_estimate == divided.log_estimate == alone.log_estimate
    assert together.log_lower == divided.log_lower < alone.log_lower
    assert together.log_upper >= divided.log_upper > alone.log_upper


def first_is_largest() -> bool:
    ends = [interval([c], Fraction(1, 2)).log_estimate for c in (COMPOSITIONS[0], COMPOSITIONS[-1])]
    return ends[0] > ends[1]


def test_the_upper_end_is_that_of_the_largest_of_all() -> None:
    """Also where it is not the last one that was looked at."""
    chosen = COMPOSITIONS if first_is_largest() else COMPOSITIONS[::-1]
    largest = interval(chosen[:1], 1 - Fraction(1, 20))
    assert interval(chosen[-1:], 1 - Fraction(1, 20)).log_upper < largest.log_upper
    assert interval(chosen, Fraction(4, 5)).log_upper >= largest.log_upper


@pytest.mark.parametrize("n", [2, 10, 50])
@pytest.mark.parametrize("alpha", [0.5, 1e-2, 1e-9])
def test_the_reach_is_that_of_the_theorem(n: int, alpha: float) -> None:
    """Maurer and Pontil 2009, Theorem 4, at alpha / 2 for each side."""
    rng = np.random.default_rng(n)
    for values in (rng.random(n), np.full(n, 0.25), rng.random(n) ** 20):
        with mpmath.workdps(40):
            x = [mpmath.mpf(value) for value in values.tolist()]
            mean = mpmath.fsum(x) / n
            variance = mpmath.fsum((a - mean) ** 2 for a in x) / (n - 1)
            level = mpmath.log(2 / (mpmath.mpf(alpha) / 2))
            reach = mpmath.sqrt(2 * variance * level / n) + 7 * level / (3 * (n - 1))
            ends = max(mpmath.mpf(0), mean - reach), min(mpmath.mpf(1), mean + reach)
        assert _interval(values, alpha) == pytest.approx([float(end) for end in ends], rel=1e-12)
