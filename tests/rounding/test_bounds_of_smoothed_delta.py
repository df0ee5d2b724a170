"""Bounds of smoothed delta in closed form where their terms cancel, against 120 digits.

The rates are differences of second order, and are multiplied by the number of records: what is
lost to cancellation outside an enclosure would be many digits of the exponent.
"""

from __future__ import annotations

import math
import random
import warnings
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest

import smoothdp as sd
from smoothdp.exact.logspace.ratio_sum import log_ratio_sum
from smoothdp.mechanisms.histogram.accounting.line import BinomialLine, HypergeometricLine
from smoothdp.smoothed.many_values.closed_bound import log_bound_of_drawn, log_bound_of_lost
from smoothdp.smoothed.many_values.many_values import _log_nothing_lost

F = Fraction
Vertices = tuple[tuple[Fraction, ...], ...]
SPLITS = [F(k, 100) for k in range(2, 99)]
ONE = ((F(1, 10), F(9, 10)),)


def real(value: Fraction | int) -> Any:
    return mpmath.mpf(value.numerator) / value.denominator


def moment(p: Fraction, rate: Any, n: int) -> Any:
    return mpmath.power(1 - real(p) * -mpmath.expm1(-rate), n)


def least(choices: list[Callable[[Fraction], Any]], vertices: Vertices) -> Any:
    """Return the least of 1 and the sums, largest over the vertices each, as a logarithm."""
    sums = (max(mpmath.log(sum(map(term, v))) for v in vertices) for term in choices)
    return min(sums, default=mpmath.mpf(0))


def formula_of_drawn(n: int, vertices: Vertices, epsilon: Fraction, draws: int) -> Any:
    """(iii) of statement 11, literally."""
    mu = real(F(draws, n))

    def j(z: Any) -> Any:
        return z * mpmath.log(z / mu) - z + mu

    def at(x: Any) -> Callable[[Fraction], Any]:
        y = x + real(epsilon)
        first, second = mpmath.exp(y * mpmath.log(y / mu)), mpmath.exp(mu - x)
        return lambda p: first * moment(p, j(y), n) + second * moment(p, j(x), n)

    inside = [mu - real(epsilon * split) for split in SPLITS]
    return min(0, least([at(x) for x in inside if x > 0], vertices))


def formula_of_lost(n: int, vertices: Vertices, epsilon: Fraction, lost: Fraction) -> Any:
    """(i) and (ii) of statement 11, literally."""
    r, e = real(lost), real(epsilon)

    def k(c: Any) -> Any:
        return c * mpmath.log(c / r) + (1 - c) * mpmath.log((1 - c) / (1 - r))

    def at(c: Any) -> Callable[[Fraction], Any]:
        g = c * mpmath.exp(e)
        return lambda p: moment(p, k(c), n) + g / r * moment(p, k(g), n)

    choices = [
        at(c) for c in (r * mpmath.exp(-e * real(s)) for s in SPLITS) if c * mpmath.exp(e) < 1
    ]
    if mpmath.exp(-e) < r:
        choices.append(lambda p: moment(p, k(mpmath.exp(-e)), n))
    return min(0, least(choices, vertices))


def above_and_near(found: float, truth: Any) -> None:
    assert truth <= found <= min(0.0, float(truth) + 3e-9 * (1 + abs(float(truth))))


@pytest.mark.parametrize(
    ("n", "draws", "epsilon", "was"),
    [
        # What the bound was, in floats: below the formula, and far below the truth in the first.
        (10**12, 10**20, 1, -1488.84),
        (10**8, 10**12, 1, -123.8061461),
        (10**12, 10**18, 3, -112501.507),
    ],
)
def test_many_more_draws_than_records(n: int, draws: int, epsilon: int, was: float) -> None:
    mechanism = sd.SamplingHistogram(n, n_draws=draws, sampling="with_replacement")
    found = sd.smoothed_delta(mechanism, sd.DataModel([("1/10", "9/10")]), epsilon=epsilon)
    assert "bound by tails" in found.method
    with mpmath.workdps(120):
        truth = formula_of_drawn(n, ONE, F(epsilon), draws)
        assert was < truth - 1e-9
        above_and_near(found.log_delta, truth)


@pytest.mark.parametrize("seed", range(20))
def test_bounds_by_tails_at_any_size(seed: int) -> None:
    """Over shares, means, epsilon and numbers of records of many sizes, and both vertices."""
    rng = random.Random(seed)
    n = rng.choice([2, 10, 100, 10**5, 10**9, 10**12, 10**15])
    lost = F(rng.choice([1, 3]), 10 ** rng.choice([1, 2, 6, 12, 20]))
    lost = 1 - lost if rng.random() < 0.4 else lost
    draws = math.ceil(n * F(rng.randint(1, 99), 10 ** rng.choice([1, 2, 6])))
    draws *= 10 ** rng.choice([0, 0, 3, 8])
    epsilon = F(rng.randint(1, 999), 10 ** rng.choice([1, 2, 3, 6, 10, 18]))
    rare = F(1, 10 ** rng.choice([1, 3, 8]))
    vertices = ((rare, F(1, 5), F(4, 5) - rare), (F(1, 3), F(1, 3), F(1, 3)))
    with mpmath.workdps(120):
        truth = formula_of_lost(n, vertices, epsilon, lost)
        above_and_near(log_bound_of_lost(n, vertices, epsilon, lost), truth)
        truth = formula_of_drawn(n, vertices, epsilon, draws)
        above_and_near(log_bound_of_drawn(n, vertices, epsilon, draws), truth)


def test_a_share_kept_and_an_epsilon_below_the_units_of_floats() -> None:
    """e^-epsilon and the share lost are both 1 as floats: it was a math domain error."""
    mechanism = sd.BernoulliHistogram(10**7, keep_probability=F(1, 10**20))
    model = sd.DataModel([("1/5", "3/10", "1/2")])
    found = sd.smoothed_delta(mechanism, model, epsilon="1e-18")
    assert found.exact_delta == F(1, 10**20)
    for exponent in range(14, 30):
        for power in (14, 17, 25):
            lost, epsilon = 1 - F(1, 10**exponent), F(1, 10**power)
            with mpmath.workdps(120):
                truth = formula_of_lost(10**25, ONE, epsilon, lost)
                above_and_near(log_bound_of_lost(10**25, ONE, epsilon, lost), truth)


def nothing_lost(p: Fraction, n: int, draws: int) -> Any:
    """Statement 7, literally."""
    y = 1 - real(p)
    return mpmath.log(mpmath.power(y, n - draws) - real(F(n - draws, n)) * mpmath.power(y, n))


def test_two_large_exponents_that_differ_by_little() -> None:
    """Each is -2106282.78; the floats of that size were subtracted, and the bound was above."""
    n, p = 651_992_952_434_331, F(6461, 2 * 10**12)
    model = sd.DataModel([(p, (1 - p) / 2, (1 - p) / 2)])
    found = sd.smoothed_delta(sd.SamplingHistogram(n, n_draws=1), model, epsilon=50)
    with mpmath.workdps(120):
        truth = nothing_lost(p, n, 1)
        assert found.log_lower <= truth < -2106282.78686 < -2106282.77789
        assert found.log_lower >= truth - 1e-9


@pytest.mark.parametrize("seed", range(4))
def test_nothing_of_a_value_lost_at_any_size(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(50):
        n = rng.choice([2, 3, 10, 1000, 10**9, 651_992_952_434_331, 10**15])
        draws = rng.choice([1, n - 1, max(1, n // 2), min(n, 7)])
        p = F(rng.randint(1, 10**6), 2 * 10 ** rng.choice([6, 8, 12, 20]))
        with mpmath.workdps(120):
            truth = nothing_lost(p, n, draws)
            found = _log_nothing_lost(p, n, draws)
            assert truth * (1 + mpmath.mpf("1e-14")) - 1e-30 <= found <= truth
    assert _log_nothing_lost(F(1, 3), 7, 7) == 0


def test_nothing_of_a_value_lost_by_enumeration() -> None:
    """In exact rationals, over the counts of the value: never above smoothed delta either."""
    for n, draws, p in ((5, 2, F(1, 3)), (8, 7, F(1, 10)), (12, 1, F(1, 2))):
        lost = n - draws
        truth = sum(
            (F(math.comb(n, h)) * p**h * (1 - p) ** (n - h))
            * F(math.comb(n - h, lost), math.comb(n, lost))
            for h in range(1, n + 1)
        ) + (1 - p) ** n * F(draws, n)
        found = _log_nothing_lost(p, n, draws)
        assert found <= math.log(truth) * (1 - 1e-15) + 1e-15
        assert found == pytest.approx(math.log(truth), abs=1e-13)
        best = sd.smoothed_delta(
            sd.SamplingHistogram(n, n_draws=draws), sd.DataModel([(p, 1 - p)]), epsilon=20
        )
        assert found <= best.log_delta


# ---- sums that are too long --------------------------------------------------------------


MANY_DRAWS = sd.SamplingHistogram(10**12, n_draws=10**20, sampling="with_replacement")
MORE_DRAWS = sd.SamplingHistogram(10**12, n_draws=10**16, sampling="with_replacement")
FEWER_DRAWS = sd.SamplingHistogram(10**15, n_draws=9 * 10**14)
BY_CHANCE = sd.BernoulliHistogram(10**15, keep_probability="0.5")


def tenths(mechanism: Any, parts: int) -> Any:
    share = mechanism.n_records // 10
    return mechanism.at([share] * (parts - 1) + [mechanism.n_records - share * (parts - 1)])


@pytest.mark.parametrize(
    ("mechanism", "parts"),
    [(MANY_DRAWS, 2), (MANY_DRAWS, 3), (MORE_DRAWS, 3), (FEWER_DRAWS, 3), (BY_CHANCE, 2)],
    ids=str,
)
def test_outputs_that_fit_into_no_memory(mechanism: Any, parts: int) -> None:
    """Refused in words: numpy was asked for 23 GiB, or a list grew until there was no more."""
    profile = tenths(mechanism, parts)
    with pytest.raises(sd.errors.OutOfReach, match=r"outputs that matter|records drawn") as caught:
        profile.log_delta_bounds(F(1))
    assert "fewer draws or records" in str(caught.value.remedy)


@pytest.mark.parametrize("mechanism", [MORE_DRAWS, FEWER_DRAWS], ids=str)
def test_many_records_whose_outputs_are_few(mechanism: Any) -> None:
    """Of two categories the tail falls at once."""
    found = tenths(mechanism, 2).log_delta_bounds(F(1))
    assert found.lower <= found.upper < -1000
    assert found.upper - found.lower < 1e-9 * abs(found.upper)


def test_a_sum_of_too_many_terms_is_refused_before_it_is_built() -> None:
    with pytest.raises(sd.errors.OutOfReach, match=r"at most 100000000 outputs .* about 1e\+12"):
        log_ratio_sum(
            lambda d: 0.0 * d + 1.0,
            lambda d: 0.0 * d + 1.0,
            n_terms=10**12,
            length=10**12,
            ratio_roundings=1,
            weight_roundings=0,
        )


@pytest.mark.parametrize("seed", range(6))
def test_ratios_of_counts_that_are_no_floats(seed: int) -> None:
    """Each ratio is within its roundings; beyond 2^53 draws three are not enough."""
    rng = random.Random(seed)
    worst = 0.0
    for _ in range(400):
        a, b = rng.randint(1, 10**12), rng.randint(1, 10**12)
        draws = rng.randint(1 << 50, 1 << 53) if seed % 2 else rng.randint(1 << 54, 1 << 70)
        line = BinomialLine(a, b, draws)
        first = rng.randint(0, draws // 2)
        steps = [rng.randint(0, 10**8) for _ in range(8)]
        found = line.ratio_from(first)(np.array(steps, dtype=np.float64))
        for d, value in zip(steps, found.tolist(), strict=True):
            truth = F((draws - first - d) * a, (first + d + 1) * b)
            error = abs(F(value) / truth - 1) * 2**53
            assert error <= line.ratio_roundings * (1 + 1e-12)
            worst = max(worst, float(error))
    assert line.ratio_roundings == (3 if seed % 2 else 7)
    assert seed % 2 or worst > 3
    assert HypergeometricLine(5, 5, 3).ratio_roundings == 3


def test_nothing_warns() -> None:
    """The ends of what floats hold: no division by zero, no logarithm of it."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for vertices in (((F(0), F(1)),), ((F(1, 10**400), 1 - F(1, 10**400)),)):
            for epsilon in (F(0), F(1, 10**400), F(1), F(10**9)):
                for draws in (1, 10**12, 10**40):
                    assert log_bound_of_drawn(10**12, vertices, epsilon, draws) == 0.0
                assert log_bound_of_lost(10**12, vertices, epsilon, F(1, 2)) <= 0.0
