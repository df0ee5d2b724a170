"""Split sums: what shares reveal, the noise of few users, and its tails, never below the truth."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

import pytest
from mpmath import mp, mpf, workdps

from smoothdp.shuffle.split.components import ComponentSums
from smoothdp.shuffle.split.noise_total import NoiseTotal
from smoothdp.shuffle.split.split_profile import SplitProfile

_LONGEST = 400


def exact_excesses(m: int, q: int, size: int) -> list[Fraction]:
    """Return the recursion's B_n - 1 for n = 0, ..., size in rationals."""
    excess = [Fraction(0), Fraction(0)]
    for n in range(2, size + 1):
        total = Fraction(0)
        for s in range(1, n):
            weight = Fraction(s * math.comb(n, s) ** 2, n * math.comb(n * m, s * m))
            total += weight * (1 + excess[n - s])
        excess.append(min(q * total, Fraction(q ** (n - 1))))
    return excess


@pytest.mark.parametrize(("m", "bits"), [(4, 3), (5, 17), (6, 40), (9, 12)])
def test_the_recursion_rounds_up(m: int, bits: int) -> None:
    sums = ComponentSums(m, bits)
    sums.extend(60)
    with workdps(40):
        for n, exact in enumerate(exact_excesses(m, 1 << bits, 60)[2:], start=2):
            truth = mp.log(mpf(exact.numerator) / exact.denominator)
            assert (
                truth <= mpf(float(sums.log_excess[n])) <= truth + mpf("1e-11") * (100 + abs(truth))
            )


@lru_cache
def difference_law(shape: Fraction, rate: Fraction) -> list[mpf]:
    """Return P(A - B = d) for d = 0, 1, ..., by summing the two laws."""
    with workdps(30):
        a, p = (
            mpf(shape.numerator) / shape.denominator,
            mp.exp(-mpf(rate.numerator) / rate.denominator),
        )
        single = [(1 - p) ** a]
        for k in range(_LONGEST):
            single.append(single[-1] * p * (a + k) / (k + 1))
        return [
            mp.fsum(x * y for x, y in zip(single, single[d:], strict=False))
            for d in range(_LONGEST // 2)
        ]


@pytest.mark.parametrize("shape", [Fraction(1, 10), Fraction(9, 10), Fraction(5, 2)])
def test_tails_of_the_noise(shape: Fraction) -> None:
    rate = Fraction(1, 2)
    noise, law = NoiseTotal(shape, rate), difference_law(shape, rate)
    with workdps(30):
        for reach in (0, 1, 3, 10, 30, 60):
            truth = mp.log(2 * mp.fsum(law[reach + 1 :]))
            assert truth <= mpf(noise.log_tail(reach)) <= truth + 6


@pytest.mark.parametrize("designed", [1, 10])
@pytest.mark.parametrize("epsilon", [0.0, 0.2, 0.9, 1.1, 3.0])
def test_one_honest_user_is_seen_through_a_share_of_the_noise(
    designed: int, epsilon: float
) -> None:
    """The only honest user of those that the noise is made for: their total is seen exactly."""
    law = difference_law(Fraction(1, designed), Fraction(1))
    profile = SplitProfile(1, designed, Fraction(1), 1, 6, 17)
    with workdps(30):
        growth = mp.exp(mpf(epsilon))
        steps = range(-len(law) + 2, len(law) - 2)
        truth = mp.fsum(max(mpf(0), law[abs(d)] - growth * law[abs(d + 1)]) for d in steps)
        found = mpf(profile.delta(epsilon))
        # The law itself is summed with 30 digits.
        assert truth - mpf("1e-28") <= found <= truth * (1 + mpf("1e-6")) + mpf("1e-12")
