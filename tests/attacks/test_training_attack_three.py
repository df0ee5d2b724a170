"""Third attack on training: selections of several runs, mixtures of Gaussians, random allocation.

Truths are laws of the best run by hand, at 40 digits, and integrals of one line; none of it shares
code with the library.
"""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest

import smoothdp as sd

mp: Any = mpmath.mp.clone()
mp.dps = 40


# ---- the best of several runs, in every order of a few outputs


def generating(count: Any, s: Any) -> Any:
    """E[s^K], by the law of K."""
    if isinstance(count, sd.PoissonCount):
        return mp.exp(mp.mpf(float(count.mean)) * (s - 1))
    if isinstance(count, sd.FixedCount):
        return s**count.runs
    shape, stop = (
        mp.mpf(each.numerator) / each.denominator for each in (count.exact_shape, count.exact_stop)
    )
    if shape == 0:
        return mp.log(1 - (1 - stop) * s) / mp.log(stop)
    return ((1 - (1 - stop) * s) ** -shape - 1) / (stop**-shape - 1)


def published(count: Any, order: Sequence[int], law: Sequence[Any]) -> list[Any]:
    """The law of the best run, outputs from worst to best; "nothing" is alike and left out."""
    masses, below = [mp.mpf(0)] * len(law), mp.mpf(0)
    for output in order:
        above = min(mp.mpf(1), below + law[output])
        masses[output] = generating(count, above) - generating(count, below)
        below = above
    return masses


def excess(p: Sequence[Any], q: Sequence[Any], growth: Any) -> Any:
    return sum(max(mp.mpf(0), a - growth * b) for a, b in zip(p, q, strict=True))


def worst(count: Any, p: Sequence[Any], q: Sequence[Any], epsilon: str) -> Any:
    growth, most = mp.exp(mp.mpf(epsilon)), mp.mpf(0)
    for order in itertools.permutations(range(len(p))):
        first, second = published(count, order, p), published(count, order, q)
        most = max(most, excess(first, second, growth), excess(second, first, growth))
    return most


def normed(weights: Sequence[float]) -> list[Any]:
    total = mp.fsum(weights)
    return [mp.mpf(each) / total for each in weights]


def pair_of(p: Sequence[Any], q: Sequence[Any]) -> Any:
    with np.errstate(divide="ignore"):
        return sd.Pair(np.log([float(a) for a in p]), np.log([float(b) for b in q]))


COUNTS = [
    sd.PoissonCount("0.125"),
    sd.PoissonCount(8),
    sd.FixedCount(3),
    sd.NegativeBinomialCount("-0.9", stop="0.05"),
    sd.NegativeBinomialCount(0, stop="0.001"),
    sd.NegativeBinomialCount(2, stop="0.999"),
]


def assert_orders_are_within(rng: random.Random, count: Any) -> None:
    size = rng.choice([2, 3])
    p = [rng.random() ** rng.choice([1, 6]) for _ in range(size)]
    q = p[::-1] if rng.random() < 0.5 else [rng.random() ** rng.choice([1, 6]) for _ in range(size)]
    if rng.random() < 0.3:
        q[rng.randrange(size)] = 0.0
    first, second = normed(p), normed(q)
    profile = sd.BestOf(pair_of(first, second), count=count).profile()
    for epsilon in ("0", "0.1", "1", "4"):
        lower, upper = profile.delta_bounds(epsilon)
        assert lower <= upper <= 1
        assert upper >= worst(count, first, second, epsilon) * (1 - mp.mpf(10) ** -14)


def test_every_order_of_a_few_outputs() -> None:
    rng = random.Random(41)
    for count in COUNTS[1::2]:
        assert_orders_are_within(rng, count)


@pytest.mark.slow
def test_every_order_of_a_few_outputs_again() -> None:
    rng = random.Random(42)
    for _ in range(8):
        for count in COUNTS:
            assert_orders_are_within(rng, count)


def test_selections_compose_with_a_law_by_hand() -> None:
    count = sd.NegativeBinomialCount(1, stop="0.25")
    p, q = normed([6, 3, 1]), normed([1, 2, 5])
    composed = sd.compose([sd.BestOf(pair_of(p, q), count=count), sd.PureDP("0.5")])
    a = mp.exp(mp.mpf("0.5")) / (1 + mp.exp(mp.mpf("0.5")))
    for epsilon in ("0", "0.5", "2"):
        growth, true = mp.exp(mp.mpf(epsilon)), mp.mpf(0)
        for order in itertools.permutations(range(3)):
            laws = published(count, order, p), published(count, order, q)
            for (one, other), answer in itertools.product((laws, laws[::-1]), (a, 1 - a)):
                both = [x * y for x in one for y in (answer, 1 - answer)]
                against = [x * y for x in other for y in (1 - answer, answer)]
                true = max(true, excess(both, against, growth))
        lower, upper = composed.delta_bounds(epsilon)
        assert lower <= upper
        assert upper >= true * (1 - mp.mpf(10) ** -12)
        assert upper <= 2 * true


@pytest.mark.parametrize("missing", [2e-5, 1e-8, 0.3])
def test_bases_whose_only_loss_is_infinite(missing: float) -> None:
    count = sd.FixedCount(5)
    p, q = normed([1 - missing, missing]), [mp.mpf(1), mp.mpf(0)]
    profile = sd.BestOf(pair_of(p, q), count=count).profile()
    for epsilon in ("0", "1"):
        lower, upper = profile.delta_bounds(epsilon)
        assert lower <= upper
        assert upper >= worst(count, p, q, epsilon) * (1 - mp.mpf(10) ** -14)


def test_a_base_without_any_overlap() -> None:
    search = sd.BestOf(pair_of([1, 0], [0, 1]), count=sd.PoissonCount("0.5"))
    some = -math.expm1(-0.5)
    lower, upper = search.profile().delta_bounds(3)
    assert lower <= some <= upper <= some * (1 + 1e-12)
    lower, upper = sd.compose([search, sd.PureDP(1)]).delta_bounds(3)
    assert lower <= upper
    assert some * (1 - 1e-12) <= upper


@pytest.mark.parametrize("delta", ["1e-3", "1e-9", "1e-30"])
def test_a_constant_profile_costs_about_delta_times_the_mean(delta: str) -> None:
    search = sd.BestOf(sd.ApproxDP(0, delta=delta), count=sd.FixedCount(5))
    lower, upper = search.profile().delta_bounds(0)
    assert lower <= 5 * float(delta) <= upper * (1 + 1e-12)
    assert upper <= 5.1 * float(delta) + 1e-5


def test_the_best_of_steps_on_samples() -> None:
    """A profile that nobody follows to 10^15 is followed as far as it goes."""
    step = sd.SubsampledGaussian("0.01", noise_multiplier=4)
    profile = sd.BestOf(step, count=sd.FixedCount(3)).profile()
    for epsilon in ("0", "0.01"):
        lower, upper = profile.delta_bounds(epsilon)
        assert lower <= upper <= 1.5 * lower
    assert profile.delta_bounds(1)[1] <= 1e-15


@pytest.mark.slow
def test_a_composed_selection_of_large_losses() -> None:
    """Bounds that are of no profile made laws of more than all mass."""
    search = sd.BestOf(sd.GaussianDP(8), count=sd.NegativeBinomialCount(1, stop="0.3"))
    alone, composed = search.profile(), sd.compose([(search, 2)])
    for epsilon in ("0", "1", "100"):
        lower, upper = composed.delta_bounds(epsilon)
        assert alone.delta_bounds(epsilon)[0] * (1 - 1e-9) <= upper
        assert lower <= upper <= 1


@pytest.mark.slow
def test_composed_selections_of_steps_on_samples() -> None:
    step = sd.SubsampledGaussian("0.01", noise_multiplier=4)
    search = sd.BestOf(step, count=sd.FixedCount(3))
    more = sd.compose([(search, 2), sd.GaussianDP("0.5", neighbours="add_remove")])
    for epsilon in ("0", "1"):
        lower, upper = more.delta_bounds(epsilon)
        assert lower <= upper <= 1
        assert upper <= 1.001 * lower


# ---- mixtures of Gaussians


def mixture_delta(shifts: list[Any], masses: list[Any], epsilon: str, *, removed: bool) -> Any:
    """delta of one release, by bisection of the likelihood ratio at 40 digits."""

    def ratio(y: Any) -> Any:
        return mp.fsum(a * mp.exp(m * y - m * m / 2) for a, m in zip(masses, shifts, strict=True))

    growth = mp.exp(mp.mpf(epsilon))
    target = growth if removed else 1 / growth
    if target <= mp.fsum(a for a, m in zip(masses, shifts, strict=True) if m == 0):
        return mp.mpf(0)
    low, high = mp.mpf(-1), mp.mpf(1)
    while ratio(low) > target:
        low *= 2
    while ratio(high) < target:
        high *= 2
    for _ in range(160):
        middle = (low + high) / 2
        low, high = (middle, high) if ratio(middle) < target else (low, middle)
    sign = 1 if removed else -1
    with_record = mp.fsum(
        a * mp.erfc(sign * (low - m) / mp.sqrt(2)) / 2 for a, m in zip(masses, shifts, strict=True)
    )
    without = mp.erfc(sign * low / mp.sqrt(2)) / 2
    return with_record - growth * without if removed else without - growth * with_record


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_one_release_of_a_mixture(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(6):
        size = rng.choice([1, 2, 5, 20])
        norms = [
            Fraction(rng.choice([0, 1, 1, 7, 50]), rng.choice([1, 10, 10**6])) for _ in range(size)
        ]
        norms[0] += Fraction(1, 7)
        weights = [Fraction(rng.randrange(1, 50), rng.choice([1, 10**6, 10**200])) for _ in norms]
        masses = [each / sum(weights) for each in weights]
        sigma = Fraction(rng.choice(["0.2", "1", "30"]))
        profile = sd.MixtureOfGaussians(norms, masses, sigma=sigma).profile()
        shifts = [
            mp.mpf(c.numerator) / c.denominator * sigma.denominator / sigma.numerator for c in norms
        ]
        laws = [mp.mpf(a.numerator) / a.denominator for a in masses]
        for epsilon in ("0.1", "1", "5"):
            true = max(mixture_delta(shifts, laws, epsilon, removed=way) for way in (True, False))
            lower, upper = profile.delta_bounds(epsilon)
            if true > mp.mpf(10) ** -300:
                assert lower * (1 - mp.mpf(10) ** -25) <= true <= upper * (1 + mp.mpf(10) ** -25)
                assert upper <= lower * (1 + 1e-11)


# ---- random allocation with little noise


def allocated_to_two(noise: float, epsilon: float) -> float:
    """delta of an epoch of two steps: one output by a grid, the other in closed form."""
    m, growth = 1 / noise, math.exp(epsilon)
    x, width = np.linspace(-12, 12 + m, 60_001, retstep=True)
    one = np.exp(m * x - m * m / 2)

    def tail(z: Any) -> Any:
        return np.vectorize(math.erfc)(z / math.sqrt(2)) / 2

    def bell(z: Any) -> Any:
        return np.exp(-z * z / 2) / math.sqrt(2 * math.pi)

    deltas = []
    for target, sign in ((growth, 1), (1 / growth, -1)):
        rest = 2 * target - one
        cut = np.where(rest > 0, (np.log(np.where(rest > 0, rest, 1)) + m * m / 2) / m, -np.inf)
        there = (bell(x - m) * tail(sign * cut) + bell(x) * tail(sign * (cut - m))) / 2
        gone = bell(x) * tail(sign * cut)
        gain = there - growth * gone if sign == 1 else gone - growth * there
        deltas.append(float(gain.sum()) * float(width))
    return max(deltas)


@pytest.mark.slow
@pytest.mark.parametrize("noise", ["0.1", "0.2", "0.3", "0.5", "0.7"])
def test_random_allocation_with_little_noise(noise: str) -> None:
    run = sd.training(n_records=20, batch=10, epochs=1, noise=noise, sampling="balls_in_bins")
    for epsilon in (0.0, 0.5, 2.0, 8.0):
        true = allocated_to_two(float(noise), epsilon)
        lower, upper = run.profile().delta_bounds(epsilon)
        assert lower <= true * (1 + 1e-7) + 1e-13
        assert upper >= true * (1 - 1e-7) - 1e-13
        assert upper <= 1.001 * lower + 1e-12
