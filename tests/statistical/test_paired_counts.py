"""Users of paired counts draw what the accounting says, and the test rejects a wrong law.

Against the exact laws of `tests/oracles/paired_noise.py`. False-alarm rate: 1e-8 a test, fixed
seeds.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

import pytest

from smoothdp.exact.random.entropy import Entropy, SeededRandom
from smoothdp.shuffle.noise_shares import negative_binomial_share
from smoothdp.shuffle.paired.count import MINUS, PLUS, PairedCount
from smoothdp.shuffle.paired.noise_draws import clump_sizes, distinct
from smoothdp.testing import frequency_test
from tests.oracles.paired_noise import moved, noise_of_all, noise_of_one, share_weight

LEVEL, RUNS = 1e-8, 4000
DESIGN, CHANCE, LARGEST, SLOTS = 3, Fraction(1, 3), 2, 7
RATIO = Fraction(1, 3)
PROTOCOL = PairedCount(
    4,
    noise_rate=Fraction(math.log(3)),
    clump_probability=CHANCE,
    largest_clump=LARGEST,
    honest_share="3/4",
    slots=SLOTS,
)


def p_value(draws: list[Any], law: Mapping[Any, Any]) -> float:
    """Return the p-value of draws under a law; what is rare is one cell."""
    common = [place for place, mass in law.items() if mass * len(draws) >= 1]
    seen = Counter(draws)
    counts = [seen[place] for place in common]
    masses = [float(law[place]) for place in common]
    rest = 1.0 - sum(masses)
    if rest > 1e-9:
        counts, masses = [*counts, len(draws) - sum(counts)], [*masses, rest]
    elif len(draws) > sum(counts):
        return 0.0
    return frequency_test(counts, masses)


def one_user(chance: Fraction = CHANCE, ratio: Fraction = RATIO) -> dict[tuple[int, int], Fraction]:
    return noise_of_one(Fraction(1, DESIGN), ratio, chance, LARGEST, SLOTS - 1)


def messages(rng: Entropy) -> tuple[int, int]:
    sent = PROTOCOL.randomize(1, rng=rng)
    return sent.count(PLUS), sent.count(MINUS)


def test_what_one_user_sends() -> None:
    rng = SeededRandom(1)
    draws = [messages(rng) for _ in range(RUNS)]
    assert p_value(draws, moved(one_user(), 1, 0)) > LEVEL
    for wrong in (one_user(Fraction(1, 2)), one_user(ratio=Fraction(1, 2))):
        assert p_value(draws, moved(wrong, 1, 0)) < LEVEL


def test_the_order_is_uniform() -> None:
    rng = SeededRandom(2)
    sent = [PROTOCOL.randomize(1, rng=rng) for _ in range(RUNS // 2)]
    lonely = [one.index(PLUS) for one in sent if one.count(PLUS) == 1 and MINUS not in one]
    assert p_value(lonely, dict.fromkeys(range(SLOTS), 1 / SLOTS)) > LEVEL


WAYS: list[Callable[[Entropy], float]] = [
    lambda rng: PROTOCOL.run_messages([1, 1, 0, 1], rng=rng),
    lambda rng: PROTOCOL.release([1, 1, 0, 1], rng=rng).value,
    lambda rng: PROTOCOL.release(counts=(1, 3), rng=rng).value,
    lambda rng: PROTOCOL.simulate(3, rng=rng).value,
]


@pytest.mark.parametrize("way", range(4))
def test_four_ways_of_one_law(way: int) -> None:
    rng = SeededRandom(10 + way)
    draws = [WAYS[way](rng) for _ in range(1200)]
    law = estimates(one_user())
    assert p_value(draws, law) > LEVEL
    assert p_value(draws, estimates(one_user(ratio=Fraction(1, 2)))) < LEVEL


def estimates(one: dict[tuple[int, int], Fraction]) -> dict[float, Fraction]:
    law: Counter[float] = Counter()
    for (plus, minus), mass in noise_of_all([one] * 4).items():
        law[3 + (plus - minus) / 2] += mass  # type: ignore[assignment]
    return dict(law)  # type: ignore[arg-type]


@pytest.mark.parametrize("shape", [Fraction(1, 5), Fraction(1), Fraction(12, 5)])
def test_shares(shape: Fraction) -> None:
    rng = SeededRandom(20)
    draws = [negative_binomial_share(shape, Fraction(1, 2), rng) for _ in range(RUNS)]
    ratio = Fraction(math.exp(-0.5))

    def law(ratio: Fraction) -> dict[int, float]:
        scale = (1 - float(ratio)) ** float(shape)
        return {k: float(share_weight(shape, ratio, k)) * scale for k in range(60)}

    assert p_value(draws, law(ratio)) > LEVEL
    assert p_value(draws, law(Fraction(7, 10))) < LEVEL


def test_clumps_and_their_cells() -> None:
    rng = SeededRandom(30)
    for largest in (3, 60):
        whole = sum(1 / j for j in range(1, largest + 1))
        sizes = clump_sizes(RUNS, largest, rng).tolist()
        assert p_value(sizes, {j: 1 / (j * whole) for j in range(1, largest + 1)}) > LEVEL
    pairs = [tuple(sorted(distinct(2, 5, rng).tolist())) for _ in range(RUNS)]
    assert p_value(pairs, {(i, j): 0.1 for j in range(5) for i in range(j)}) > LEVEL
    triples = [tuple(sorted(distinct(3, 5, rng).tolist())) for _ in range(RUNS)]
    assert len(set(triples)) == 10
    assert all(len(set(triple)) == 3 for triple in triples)
