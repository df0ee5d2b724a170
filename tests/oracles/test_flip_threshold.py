"""The rounding of the flip probability: up to a multiple of 2^-64, and exactly that law."""

from __future__ import annotations

import math
import random
from fractions import Fraction

import numpy as np
import pytest

from smoothdp.claims import PureDP
from smoothdp.errors import InvalidParameter
from smoothdp.shuffle import BooleanSum, RealSum
from smoothdp.shuffle.flipped.flipped_sum import flip_word

RNG = random.Random(2026_11_22)
WORD = 1 << 64


class OneWord:
    """A source whose every 64-bit word is the same; the test is of what is made of it."""

    is_private = False

    def __init__(self, word: int) -> None:
        self.word = word

    def bits(self, count: int) -> int:
        whole, rest = divmod(count, 64)
        repeated = sum(self.word << (64 * place) for place in range(whole))
        return (repeated << rest) | (self.word >> (64 - rest) if rest else 0)

    def below(self, n: int) -> int:
        return self.word % n


def shares() -> list[tuple[int, Fraction]]:
    """(n, lambda) with lambda / 2n no multiple of 2^-64: where rounding decides."""
    found = [(1, Fraction(2, 3)), (3, Fraction(2)), (10, Fraction(1, 7))]
    for _ in range(60):
        n = RNG.randrange(2, 10**6)
        users = Fraction(RNG.randrange(1, 10**9), 10**9 + 7) * n
        found.append((n, users))
    return found


@pytest.mark.parametrize(("n", "users"), shares())
def test_more_flips_than_asked_for_never_fewer(n: int, users: Fraction) -> None:
    asked = users / (2 * n)
    protocol = BooleanSum(n, expected_random_users=users)
    flip = protocol.flip_probability
    assert asked <= flip < asked + Fraction(1, WORD)
    # Rounded down, the bit would be flipped less often than the accounting has been asked for.
    assert Fraction(math.floor(asked * WORD), WORD) < asked


def exact_epsilons() -> list[tuple[int, int]]:
    """(a, b): epsilon = ln(a / b), kept from q = b / (a + b) on, which is no multiple of 2^-64."""
    pairs = {(RNG.randrange(3, 50), RNG.randrange(1, 3)) for _ in range(30)}
    return sorted(
        (a, b) for a, b in pairs if Fraction(b, a + b).denominator & ((a + b) - 1) and a > b
    )


@pytest.mark.parametrize(("a", "b"), exact_epsilons())
def test_a_pure_promise_on_the_edge_needs_the_rounding_up(
    a: int, b: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    n, flip = 12, Fraction(b, a + b)
    users, promise = 2 * n * flip, PureDP(f"ln({a}/{b})")
    kept = BooleanSum(n, expected_random_users=users, promise=promise)
    assert (1 - kept.flip_probability) / kept.flip_probability <= Fraction(a, b)
    assert kept.profile().log_delta_bounds(promise.exact_epsilon).upper == -math.inf
    # The twin: with the word rounded down the same promise is false, and refused.
    lower = "smoothdp.shuffle.flipped.flipped_sum.flip_word"
    monkeypatch.setattr(lower, lambda lam, m: math.floor(lam / (2 * m) * WORD))
    with pytest.raises(InvalidParameter, match="promise that the exact profile keeps"):
        BooleanSum(n, expected_random_users=users, promise=promise)


@pytest.mark.parametrize("share", ["1/3", "1/1000", "0.999"])
def test_exactly_the_words_below_it_flip(share: str) -> None:
    """threshold of 2^64 words: the last that flips, and the first that does not."""
    n = 8
    boolean = BooleanSum(n, expected_random_users=n * Fraction(share))
    real = RealSum(n, expected_random_users=n * Fraction(share), n_bits=2)
    assert boolean.threshold == flip_word(n * Fraction(share), n) == real.threshold
    for word, flips in ((boolean.threshold - 1, 1), (boolean.threshold, 0), (0, 1), (WORD - 1, 0)):
        rng = OneWord(word)
        assert boolean.randomize(0, rng=rng) == (flips,)
        assert boolean.randomize(1, rng=rng) == (1 - flips,)
        assert boolean.randomize_all([0, 1] * 4, rng=rng).tolist() == [flips, 1 - flips] * 4
        assert real.randomize(0, rng=rng) == (flips,) * 2
        # As many ones as flips make of zeros: all users at once.
        total = real.release(np.zeros(n), rng=rng).value
        assert total == real.estimate_from_total(2 * n * flips)
