"""Random compositions against sums and integrals that know nothing of the library.

Every case draws a list of 1 to 6 items with counts, a neighbour relation, an epsilon and a delta.
The truth is known within an error bar (tests/oracles/composition_truth.py), mostly 1e-11 of
itself. The library's pair of bounds must meet it: upper >= truth's lower end and lower <= its upper
end; the same of epsilon at a delta. A wrong law is told (last test).
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, Literal

import numpy as np
import pytest

import smoothdp as sd
from tests.oracles.composition_truth import (
    Part,
    exact_delta,
    fixed_part,
    gaussian_part,
    laplace_part,
    larger_pair,
    largest_delta,
    lattice_part,
    mixture_part,
    pair_part,
    poisson_part,
    response_part,
)

Drawn = tuple[Any, Part, int]
SEED = 2511
ALL = 10_000
BLOCK = 500
ORDINARY = 60


def digits(value: float) -> Fraction:
    """Return a number of three digits near a float: exact in both worlds."""
    return Fraction(f"{value:.3g}")


def log_uniform(rng: random.Random, low: float, high: float) -> Fraction:
    return digits(math.exp(rng.uniform(math.log(low), math.log(high))))


def count_of(rng: random.Random, most: int) -> int:
    return rng.choice([1, 1, 2, rng.randint(1, most)])


def drawn_pair(rng: random.Random) -> tuple[list[Fraction], list[Fraction]]:
    size = rng.randint(2, 3)
    laws = []
    for _ in range(2):
        whole = [rng.randint(1, 20) for _ in range(size)]
        if rng.random() < 0.2:
            whole[rng.randrange(size)] = 0
        laws.append([Fraction(x, sum(whole)) for x in whole])
    return laws[0], laws[1]


def logs(law: Sequence[Fraction]) -> Any:
    with np.errstate(divide="ignore"):
        return np.log(np.array([float(x) for x in law]))


def gaussian(rng: random.Random, about: str) -> Drawn:
    sigma, count = log_uniform(rng, 0.7, 30), count_of(rng, 60)
    part = gaussian_part(1 / float(sigma) ** 2)
    if rng.random() < 0.3:
        return sd.GaussianDP(1 / sigma, neighbours=about), part, count
    return sd.GaussianMechanism(sigma, neighbours=about), part, count


def laplace(rng: random.Random, about: str) -> Drawn:
    scale = log_uniform(rng, 0.5, 20)
    return sd.LaplaceMechanism(scale, neighbours=about), laplace_part(1 / float(scale)), 1


def response(rng: random.Random, about: str) -> Drawn:
    epsilon, count = log_uniform(rng, 0.02, 2), count_of(rng, 30)
    if rng.random() < 0.4:
        delta = log_uniform(rng, 1e-7, 0.05)
        item = sd.ApproxDP(epsilon, delta=delta, neighbours=about)
        return item, response_part(float(epsilon), float(delta)), min(count, 5)
    return sd.PureDP(epsilon, neighbours=about), response_part(float(epsilon)), count


def lattice(rng: random.Random, about: str) -> Drawn:
    shift = rng.randint(1, 3)
    if rng.random() < 0.5:
        scale = log_uniform(rng, 1, 8)
        a = 1 / float(scale)
        part = lattice_part(lambda k: math.exp(-a * abs(k)), shift, int(40 / a) + 10)
        item: Any = sd.DiscreteLaplaceMechanism(scale, sensitivity=shift, neighbours=about)
        return item, part, count_of(rng, 3)
    square = log_uniform(rng, 1, 12)
    s = float(square)
    part = lattice_part(lambda k: math.exp(-k * k / (2 * s)), shift, int(9 * math.sqrt(s)) + 3)
    return sd.DiscreteGaussianMechanism(square, sensitivity=shift, neighbours=about), part, 1


def pair(rng: random.Random, about: str) -> Drawn:
    p, q = drawn_pair(rng)
    if about == "replace_one":
        return sd.Pair(logs(p), logs(q)), pair_part(p, q, ways=False), count_of(rng, 4)
    firsts: list[Literal["with_record", "without_record"] | None]
    firsts = ["with_record", "without_record", None]
    first = rng.choice(firsts)
    item = sd.Pair(logs(p), logs(q), first=first).profile(neighbours="add_remove")
    if first == "without_record":
        p, q = q, p
    return item, pair_part(p, q, ways=first is not None), count_of(rng, 4)


def step(rng: random.Random, about: str) -> Drawn:
    """A training step: on a Poisson sample, or on one of a fixed size."""
    rate, noise = log_uniform(rng, 0.005, 0.9), log_uniform(rng, 0.7, 5)
    if about == "add_remove":
        part = poisson_part(float(rate), 1 / float(noise))
        if rng.random() < 0.5:
            return sd.SubsampledGaussian(rate, noise_multiplier=noise), part, 1
        batch = int(rate * 1000)
        part = poisson_part(batch / 1000, 1 / float(noise))
        run = sd.training(n_records=1000, batch=batch, steps=1, noise=noise, sampling="poisson")
        return run, part, 1
    if rng.random() < 0.5:
        item = sd.SubsampledGaussian(rate, noise_multiplier=noise, sampling="without_replacement")
        return item, fixed_part(float(rate), 1 / float(noise)), 1
    batch = int(rate * 1000)
    run = sd.training(n_records=1000, batch=batch, steps=1, noise=2 * noise, sampling="fixed")
    return run, fixed_part(batch / 1000, 1 / float(noise)), 1


def mixture(rng: random.Random, about: str) -> Drawn:
    """A mixture of Gaussians, which is about neighbours one of whom has the record."""
    if about == "replace_one":
        return gaussian(rng, about)
    sizes = [log_uniform(rng, 0.05, 3) for _ in range(rng.randint(1, 3))]
    sizes += [Fraction(0)] if rng.random() < 0.7 else []
    weights = [rng.randint(1, 50) for _ in sizes]
    shares = [Fraction(weight, sum(weights)) for weight in weights]
    part = mixture_part([float(p) for p in shares], [float(c) for c in sizes])
    return sd.MixtureOfGaussians(sizes, shares, sigma=1), part, count_of(rng, 2)


KINDS: tuple[Callable[[random.Random, str], Drawn], ...] = (
    gaussian,
    laplace,
    response,
    lattice,
    pair,
    step,
)


def drawn_list(rng: random.Random, *, mixtures: bool = False) -> list[Drawn]:
    """Return items whose truth is within reach: two parts to integrate, some thousand outcomes."""
    about = rng.choice(["replace_one", "add_remove"])
    chosen: list[Drawn] = []
    states, nodes = 1.0, 0
    for _ in range(rng.randint(1, 6)):
        kinds = (*KINDS, mixture, mixture) if mixtures else KINDS
        item, part, count = rng.choice(kinds)(rng, about)
        more = 1.0
        if part.atoms:
            # Outcomes of equal ratio are joined: of randomised response there are few.
            size = len(part.atoms[0][0])
            is_even = size == 4
            more = float(2 * count + 3) if is_even else float(size) ** count
        dense = nodes + (count if part.dense else 0)
        with_gaussian = any(p.square for _, p, _ in chosen)
        most = (6e4, 1500 if with_gaussian else 300, 20 if with_gaussian else 10)
        if dense > 2 or states * more > most[dense]:
            continue
        states, nodes = states * more, dense
        chosen.append((item, part, count))
    return chosen or [gaussian(rng, about)]


def check(number: int, *, roots: bool, mixtures: bool = False) -> None:
    rng = random.Random(SEED * ALL + number)
    chosen = drawn_list(rng, mixtures=mixtures)
    profile = sd.compose([(item, count) for item, _, count in chosen])
    parts = [(part, count) for _, part, count in chosen]
    epsilon = digits(rng.choice([0.0, rng.uniform(0, 1), rng.expovariate(0.5)]))
    low, high = largest_delta(parts, float(epsilon))
    below, above = profile.delta_bounds(epsilon)
    assert low <= above, (number, chosen, epsilon)
    assert below <= high, (number, chosen, epsilon)
    assert above - below <= 1e-3 * above + 1e-12, (number, chosen, epsilon)
    # The root costs some dozens of values: of one list in five.
    if high < 1e-10 or not roots or number % 5:
        return
    delta = digits(max(1e-9, low * rng.choice([0.5, 0.1, 0.01])))
    least, most = profile.epsilon_bounds(delta)
    if math.isfinite(most):
        assert largest_delta(parts, most)[0] <= float(delta) * (1 + 1e-12), (number, chosen, delta)
    if least > 0:
        assert largest_delta(parts, least)[1] >= float(delta) * (1 - 1e-12), (number, chosen, delta)


@pytest.mark.parametrize("block", range(5))
def test_bounds_meet_the_truth(block: int) -> None:
    for number in range(block * ORDINARY // 5, (block + 1) * ORDINARY // 5):
        check(number, roots=False)


@pytest.mark.slow
@pytest.mark.parametrize("block", range(ALL // BLOCK))
def test_bounds_of_ten_thousand_compositions_meet_the_truth(block: int) -> None:
    for number in range(block * BLOCK, (block + 1) * BLOCK):
        check(number, roots=True)


@pytest.mark.parametrize("number", [4409, 4700, 6360, 6752, 8410])
def test_lists_that_failed_once(number: int) -> None:
    """What made each fail.

    A panel too many in the head of a cut law (a lower end above the truth); no finite loss; a
    truth summed at nodes too far apart; a bracket of a thousandth of delta. At 6360, two meshes of
    the truth that were wrong by the same: the library's ends hold, by another quadrature.
    """
    check(number, roots=True)


@pytest.mark.slow
@pytest.mark.parametrize("block", range(4))
def test_bounds_with_mixtures_of_gaussians_meet_the_truth(block: int) -> None:
    for number in range(block * 150, (block + 1) * 150):
        check(number, roots=True, mixtures=True)


@pytest.mark.parametrize("number", range(20))
def test_sums_agree_with_rationals(number: int) -> None:
    """The truth itself, and the library, against exact rationals for lists of finite pairs."""
    rng = random.Random(number)
    pairs = [(drawn_pair(rng), rng.randint(1, 2)) for _ in range(rng.randint(1, 3))]
    e = Fraction(rng.randint(10, 40), 10)
    exact = float(exact_delta([(larger_pair(p, q), count) for (p, q), count in pairs], e))
    parts = [(pair_part(p, q, ways=False), count) for (p, q), count in pairs]
    low, high = largest_delta(parts, math.log(e))
    assert low - 1e-15 <= exact <= high + 1e-15
    profile = sd.compose([(sd.Pair(logs(p), logs(q)), count) for (p, q), count in pairs])
    below, above = profile.delta_bounds(f"{math.log(e):.17g}")
    assert below * (1 - 1e-12) - 1e-15 <= exact <= above * (1 + 1e-12) + 1e-15


def test_a_wrong_law_is_told() -> None:
    """One part in a thousand off in one item is outside of the bars, at most lists."""
    told = 0
    for number in range(40):
        rng = random.Random(SEED * ALL + number)
        chosen = drawn_list(rng)
        square = 1 / float(log_uniform(rng, 1, 5)) ** 2
        right = [(part, count) for _, part, count in chosen] + [(gaussian_part(square), 1)]
        wrong = [*right[:-1], (gaussian_part(square * 1.001), 1)]
        told += largest_delta(right, 1.0)[1] < largest_delta(wrong, 1.0)[0]
    assert told >= 30
