"""Three ways to run a sum follow one law, and the test rejects a wrong one.

False-alarm rate: 1e-8 a test, fixed seeds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np
import pytest

from smoothdp.exact.random.entropy import Entropy, SeededRandom, SystemRandom
from smoothdp.exact.random.random_words import random_words, uniform_order
from smoothdp.shuffle.flipped.boolean_sum import BooleanSum
from smoothdp.shuffle.flipped.real_sum import RealSum
from smoothdp.shuffle.protocol import UniformShuffler
from smoothdp.testing import frequency_test
from tests.oracles.bit_sums import binomial_law, convolve, total_law

LEVEL = 1e-8
RUNS = 4000


def estimates_law(law: list[Fraction], protocol: BooleanSum | RealSum) -> dict[float, float]:
    return {protocol.estimate_from_total(k): float(mass) for k, mass in enumerate(law)}


def p_value(draws: list[float], law: dict[float, float]) -> float:
    values = sorted(law)
    places = {value: i for i, value in enumerate(values)}
    counts = np.bincount([places[draw] for draw in draws], minlength=len(values))
    return frequency_test(counts, [law[value] for value in values])


BITS = [0, 1, 1, 0, 1, 0, 0]


@pytest.fixture(scope="module")
def boolean() -> BooleanSum:
    return BooleanSum(7, expected_random_users="2.5")


def ways(protocol: BooleanSum | RealSum, data: Sequence[float], counts: object) -> list[Callable]:  # type: ignore[type-arg]
    return [
        lambda rng: protocol.run_messages(data, rng=rng),  # type: ignore[arg-type]
        lambda rng: protocol.release(data, rng=rng).value,  # type: ignore[arg-type]
        lambda rng: protocol.release(counts=counts, rng=rng).value,
        lambda rng: protocol.simulate(counts, rng=rng).value,
    ]


@pytest.mark.parametrize("way", range(4))
def test_boolean_sum(boolean: BooleanSum, way: int) -> None:
    run = ways(boolean, BITS, (4, 3))[way]
    rng = SeededRandom(3 + way)
    draws = [run(rng) for _ in range(RUNS)]
    law = estimates_law(total_law(4, 3, boolean.flip_probability), boolean)
    assert p_value(draws, law) > LEVEL
    wrong = estimates_law(total_law(4, 3, Fraction(12, 100)), boolean)
    assert p_value(draws, wrong) < LEVEL


@pytest.mark.parametrize("way", range(4))
def test_real_sum(way: int) -> None:
    protocol = RealSum(4, expected_random_users="1.2", n_bits=3)
    data = [0.25, 0.5, 0.5, 1.0]
    run = ways(protocol, data, {0.25: 1, 0.5: 2, 1: 1})[way]
    rng = SeededRandom(11 + way)
    draws = [run(rng) for _ in range(RUNS)]
    # 3/4 of a bit; one bit and half of another, twice; three bits.
    coded = convolve(binomial_law(1, Fraction(3, 4)), binomial_law(2, Fraction(1, 2)))

    def law(q: Fraction) -> list[Fraction]:
        out = [Fraction(0)] * 13
        for extra, weight in enumerate(coded):
            for k, mass in enumerate(total_law(12 - 5 - extra, 5 + extra, q)):
                out[k] += weight * mass
        return out

    assert p_value(draws, estimates_law(law(protocol.flip_probability), protocol)) > LEVEL
    assert p_value(draws, estimates_law(law(Fraction(5, 100)), protocol)) < LEVEL


def test_every_user_is_flipped_alike(boolean: BooleanSum) -> None:
    rng = SeededRandom(5)
    reports = np.array([boolean.randomize_all(BITS, rng=rng) for _ in range(RUNS)])
    flips = (reports != np.array(BITS)).sum(axis=0)
    q = float(boolean.flip_probability)
    for count in flips.tolist():
        assert frequency_test([RUNS - count, count], [1 - q, q]) > LEVEL
        assert frequency_test([RUNS - count, count], [1 - q / 2, q / 2]) < LEVEL


@pytest.mark.parametrize("by", ["list", "array"])
def test_shuffler_is_uniform(by: str) -> None:
    rng, shuffler = SeededRandom(8), UniformShuffler()
    seen: dict[tuple[int, ...], int] = {}
    for _ in range(RUNS):
        order = (
            shuffler.shuffle([0, 1, 2, 3], rng=rng)
            if by == "list"
            else shuffler.shuffle_array(np.arange(4), rng=rng).tolist()
        )
        seen[tuple(order)] = seen.get(tuple(order), 0) + 1
    counts = [*seen.values()] + [0] * (24 - len(seen))
    assert frequency_test(counts, [1 / 24] * 24) > LEVEL
    assert frequency_test(counts, [2 / 25, *[1 / 25] * 23]) < 0.5


class Scripted:
    """Words from a list, to meet the rare case of two equal keys."""

    is_private = False

    def __init__(self, words: list[int]) -> None:
        self.words = words

    def bits(self, n: int) -> int:
        value = 0
        for place in range(n // 64):
            value |= self.words.pop(0) << (64 * place)
        return value

    def below(self, n: int) -> int:
        raise AssertionError(n)


def test_equal_keys_are_drawn_again() -> None:
    rng: Entropy = Scripted([5, 5, 1, 9, 2, 4])
    assert uniform_order(3, rng).tolist() == [1, 2, 0]


def test_words() -> None:
    rng: Entropy = Scripted([1, 2**63, 2**64 - 1])
    assert random_words(3, rng).tolist() == [1, 2**63, 2**64 - 1]
    assert len(set(random_words(100, SystemRandom()).tolist())) == 100


def test_system_randomness_follows_the_law_too() -> None:
    """Not reproducible: a level of 1e-9 a run."""
    n = 200_000
    protocol = BooleanSum(n, expected_random_users=60_000)
    value = protocol.release(np.ones(n, dtype=np.uint8)).value
    assert abs(value - n) < 6.5 * protocol.mse() ** 0.5
