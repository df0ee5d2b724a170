"""Paper 3 (Balcer, Cheu), section 4: pure privacy in the shuffle model."""

from __future__ import annotations

import itertools
import math
import random
from collections import Counter, defaultdict
from collections.abc import Hashable
from fractions import Fraction

import pytest

from smoothdp.errors import InvalidData, InvalidParameter
from smoothdp.exact.parameters.numbers import LogRatio
from smoothdp.exact.random.entropy import SeededRandom
from smoothdp.shuffle.applications.finite_randomizer import FiniteRandomizer
from smoothdp.shuffle.applications.pure_privacy import (
    SingleMessageProtocol,
    both_bits_randomizer,
    no_two_ones_randomizer,
    to_local_protocol,
)
from smoothdp.testing import frequency_test

LEVEL = 1e-8
RESPONSE = FiniteRandomizer({0: {(0,): "3/4", (1,): "1/4"}, 1: {(0,): "1/4", (1,): "3/4"}})


def random_randomizer(rng: random.Random, n_data: int, n_messages: int) -> FiniteRandomizer:
    laws = {}
    for datum in range(n_data):
        weights = [rng.randint(1, 9) for _ in range(n_messages)]
        laws[datum] = {(m,): Fraction(w, sum(weights)) for m, w in enumerate(weights)}
    return FiniteRandomizer(laws)


def naive_shuffled_epsilon(randomizer: FiniteRandomizer, n: int) -> float:
    """All data sets, all neighbours, all ordered outputs joined into multisets."""

    def law(data: tuple[Hashable, ...]) -> dict[tuple[Hashable, ...], Fraction]:
        result: dict[tuple[Hashable, ...], Fraction] = {}
        for choice in itertools.product(*(randomizer.laws[x].items() for x in data)):
            sent = tuple(sorted((m for vector, _ in choice for m in vector), key=repr))
            weight = math.prod((p for _, p in choice), start=Fraction(1))
            result[sent] = result.get(sent, Fraction(0)) + weight
        return result

    laws = {data: law(data) for data in itertools.product(randomizer.laws, repeat=n)}
    worst = Fraction(1)
    for first, second in itertools.permutations(laws, 2):
        if sum(x != y for x, y in zip(first, second, strict=True)) == 1:
            for output, p in laws[first].items():
                q = laws[second].get(output, Fraction(0))
                if q == 0:
                    return math.inf
                worst = max(worst, p / q)
    return float(LogRatio(worst)) if worst != 1 else 0.0


def test_shuffled_epsilon_is_that_of_all_data_sets() -> None:
    rng = random.Random(1)
    randomizers = [RESPONSE, both_bits_randomizer(), random_randomizer(rng, 3, 3)]
    for randomizer in randomizers:
        for n in (1, 2, 3):
            exact = float(randomizer.shuffled_epsilon(n))
            assert exact == pytest.approx(naive_shuffled_epsilon(randomizer, n), rel=1e-14)
    assert float(no_two_ones_randomizer().shuffled_epsilon(2)) == pytest.approx(
        naive_shuffled_epsilon(no_two_ones_randomizer(), 2), rel=1e-14
    )


def test_claim_4_2_the_randomizer_is_as_private_as_the_shuffled_protocol() -> None:
    """Single-message: local epsilon <= shuffled epsilon; in fact they are equal."""
    for n in (1, 2, 5, 12):
        assert RESPONSE.shuffled_epsilon(n) == LogRatio(Fraction(3)) == RESPONSE.pure_epsilon()
    rng = random.Random(2)
    for _ in range(25):
        randomizer = random_randomizer(rng, rng.choice([2, 3]), rng.choice([2, 3]))
        for n in (1, 2, 4):
            assert randomizer.shuffled_epsilon(n) == randomizer.pure_epsilon()


def test_claim_4_2_needs_pure_privacy() -> None:
    """With delta > 0 shuffling does help: 100 users of randomised response with epsilon ln 3
    are hidden far better together, at the price of delta."""
    n, q = 100, Fraction(1, 4)
    law = [math.comb(n - 1, k) * q**k * (1 - q) ** (n - 1 - k) for k in range(n)]
    ones = [
        sum((law[k - b] * w for b, w in ((0, 1 - p), (1, p)) if 0 <= k - b < n), Fraction(0))
        for p in (q, 1 - q)
        for k in range(n + 1)
    ]
    zero, one = ones[: n + 1], ones[n + 1 :]
    delta = sum(max(a - 2 * b, Fraction(0)) for a, b in zip(zero, one, strict=True))
    assert 0 < delta < Fraction(1, 50)
    local = max(Fraction(3, 4) - 2 * Fraction(1, 4), Fraction(0))
    assert local == Fraction(1, 4)


def test_section_1_2_single_message_lemma_of_cheu_et_al() -> None:
    """Shuffled (epsilon, delta) with one message: the randomiser is (epsilon + ln n, delta)-DP."""
    for n, q in itertools.product((2, 3, 6), (Fraction(1, 10), Fraction(1, 3))):
        one = {k: math.comb(n - 1, k) for k in range(n)}
        laws = []
        for chance in (q, 1 - q):
            law = [Fraction(0)] * (n + 1)
            for k, ways in one.items():
                # The others all hold 0: the worst case for one of the two directions.
                weight = ways * q**k * (1 - q) ** (n - 1 - k)
                law[k] += weight * (1 - chance)
                law[k + 1] += weight * chance
            laws.append(law)
        for growth in (Fraction(1), Fraction(3, 2), Fraction(4)):
            shuffled = max(
                sum(max(a - growth * b, Fraction(0)) for a, b in zip(x, y, strict=True))
                for x, y in itertools.permutations(laws)
            )
            local = max((1 - q) - growth * n * q, Fraction(0))
            assert local <= shuffled


def test_theorem_4_1_same_law_and_same_epsilon() -> None:
    """The output law of the local protocol, exactly, for an analyser that looks at the order."""
    n = 3
    protocol = SingleMessageProtocol(n, RESPONSE, tuple)
    local = to_local_protocol(protocol, rng=SeededRandom(3))
    assert local.randomizer is RESPONSE
    assert local.epsilon() == protocol.epsilon() == LogRatio(Fraction(3))
    data, rng = (0, 1, 1), SeededRandom(4)
    law: dict[tuple[Hashable, ...], float] = defaultdict(float)
    for sent in itertools.product((0, 1), repeat=n):
        weight = math.prod(float(RESPONSE.laws[x][(m,)]) for x, m in zip(data, sent, strict=True))
        for order in itertools.permutations(sent):
            law[order] += weight / math.factorial(n)
    outputs = sorted(law)
    weights = [law[output] for output in outputs]
    for run in (protocol.run, local.run):
        seen = Counter(run(data, rng=rng) for _ in range(4000))
        assert frequency_test([seen[o] for o in outputs], weights) > LEVEL
    unshuffled = [
        math.prod(float(RESPONSE.laws[x][(m,)]) for x, m in zip(data, o, strict=True))
        for o in outputs
    ]
    assert frequency_test([seen[o] for o in outputs], unshuffled) < LEVEL


def test_theorem_1_3_is_theorem_4_1_and_needs_one_message() -> None:
    with pytest.raises(InvalidParameter, match="one message per user"):
        SingleMessageProtocol(3, both_bits_randomizer(), sum)
    with pytest.raises(InvalidParameter, match="SingleMessageProtocol"):
        to_local_protocol(RESPONSE)  # type: ignore[arg-type]
    with pytest.raises(InvalidData, match="3 users"):
        SingleMessageProtocol(3, RESPONSE, sum).run([0, 1])


def test_claim_4_3_both_bits() -> None:
    """0-DP for every n, an infinite epsilon of the randomiser, 0 again if pre-shuffled."""
    randomizer = both_bits_randomizer()
    for n in (1, 2, 3, 8):
        assert randomizer.shuffled_epsilon(n) == 0
    assert randomizer.pure_epsilon() == math.inf
    assert randomizer.pre_shuffled().pure_epsilon() == 0


@pytest.mark.parametrize(
    ("n", "ratio"),
    [(2, "5/2"), (3, "125/64"), (4, "8/5"), (5, "8/5"), (12, "8/5"), (20, "8/5")],
)
def test_claim_4_4_no_two_ones(n: int, ratio: str) -> None:
    """Finite from two users on; ln(8/5) from four."""
    assert no_two_ones_randomizer().shuffled_epsilon(n) == LogRatio(Fraction(ratio))


def test_claim_4_4_needs_two_users() -> None:
    """Every number in 0..4n is a sum of numbers of {0, 1, 3, 4} only for n >= 2: with one user,
    which is the pre-shuffled randomiser, epsilon is infinite."""
    randomizer = no_two_ones_randomizer()
    assert randomizer.shuffled_epsilon(1) == math.inf
    assert randomizer.pre_shuffled().pure_epsilon() == math.inf
    for n in (1, 2, 3):
        sums = {sum(parts) for parts in itertools.product((0, 1, 3, 4), repeat=n)}
        assert (sums == set(range(4 * n + 1))) == (n >= 2)


def test_bad_randomizers() -> None:
    with pytest.raises(InvalidData, match="sum to 1"):
        FiniteRandomizer({0: {(0,): "1/2"}, 1: {(0,): 1}})
    with pytest.raises(InvalidData, match="sum to 1"):
        FiniteRandomizer({0: {(0,): 2, (1,): -1}, 1: {(0,): 1}})
    with pytest.raises(InvalidData, match="two data"):
        FiniteRandomizer({0: {(0,): 1}})
    with pytest.raises(InvalidData, match="tuple"):
        FiniteRandomizer({0: {0: 1}, 1: {(0,): 1}})
    with pytest.raises(InvalidData, match="datum among"):
        RESPONSE.randomize(2)
