"""Each statement of docs/proofs/optimal-composition.md, in exact rationals."""

from __future__ import annotations

import math
import random
from fractions import Fraction
from itertools import product

import smoothdp as sd
from smoothdp.claims.guarantees.standard import ApproxDP

F = Fraction
Pair = tuple[list[Fraction], list[Fraction]]
GROWTHS = (F(0), F(1, 9), F(1, 2), F(5, 6), F(1), F(6, 5), F(2), F(7, 2), F(10))


def stick(pair: Pair, growth: Fraction) -> Fraction:
    return sum((max(F(0), p - growth * q) for p, q in zip(*pair, strict=True)), F(0))


def mirrored(pair: Pair) -> Pair:
    return pair[1], pair[0]


def times(first: Pair, second: Pair) -> Pair:
    p, q = ([a * b for a, b in product(x, y)] for x, y in zip(first, second, strict=True))
    return p, q


def two_point(e: Fraction, delta: Fraction) -> Pair:
    yes, no = (1 - delta) * e / (1 + e), (1 - delta) / (1 + e)
    return [delta, yes, no, F(0)], [F(0), no, yes, delta]


def random_pair(rng: random.Random) -> Pair:
    size = rng.choice([2, 3, 4])
    laws = []
    for _ in range(2):
        weights = [rng.choice([0, 1, 2, 3, 10]) for _ in range(size)]
        weights[rng.randrange(size)] += 1
        laws.append([F(w, sum(weights)) for w in weights])
    return laws[0], laws[1]


def claim_met(pair: Pair, e: Fraction) -> Fraction:
    """The least delta at this epsilon, both directions."""
    return max(stick(pair, e), stick(mirrored(pair), e))


def formula(claims: list[tuple[Fraction, Fraction]], growth: Fraction) -> Fraction:
    """Delta(E) of statement 2."""
    total = F(0)
    for sigma in product((-1, 1), repeat=len(claims)):
        mass, ratio = F(1), F(1)
        for (e, _), sign in zip(claims, sigma, strict=True):
            mass *= (e if sign > 0 else 1) / (1 + e)
            ratio *= e**sign
        total += mass * max(F(0), 1 - growth / ratio)
    rest = math.prod((1 - delta for _, delta in claims), start=F(1))
    return 1 - rest + rest * total


def test_the_two_point_pair_dominates() -> None:
    rng = random.Random(61)
    for _ in range(800):
        pair, e = random_pair(rng), rng.choice([F(1), F(3, 2), F(4)])
        delta = claim_met(pair, e)
        worst = two_point(e, delta)
        for growth in (*GROWTHS, 1 / e, e):
            assert stick(pair, growth) <= stick(worst, growth) == stick(mirrored(worst), growth)
        assert stick(worst, e) == delta
        assert stick(worst, 1 / e) == 1 - (1 - delta) / e


def test_one_direction_is_not_enough() -> None:
    """P = (0, 1), Q = (1/2, 1/2), e = 2: forwards delta is 0, and 1/2 at E = 1 is beyond 1/3."""
    pair: Pair = [F(0), F(1)], [F(1, 2), F(1, 2)]
    assert stick(pair, F(2)) == 0
    assert stick(pair, F(1)) == F(1, 2) > stick(two_point(F(2), F(0)), F(1)) == F(1, 3)


def test_nothing_that_meets_the_claims_composes_to_more() -> None:
    """Three mechanisms, the second and third chosen by earlier outputs, in every direction."""
    rng, nearest = random.Random(62), F(0)
    for _ in range(150):
        growths = [rng.choice([F(1), F(3, 2), F(3)]) for _ in range(2)]
        first = random_pair(rng)
        followers = [random_pair(rng) for _ in first[0]]
        claims = [
            (growths[0], claim_met(first, growths[0])),
            (growths[1], max(claim_met(pair, growths[1]) for pair in followers)),
        ]
        joint: Pair = [], []
        for y, pair in enumerate(followers):
            way = mirrored(pair) if rng.random() < 0.5 else pair
            for side in (0, 1):
                joint[side].extend(first[side][y] * mass for mass in way[side])
        for growth in GROWTHS:
            bound = formula(claims, growth)
            assert max(stick(joint, growth), stick(mirrored(joint), growth)) <= bound
            if 0 < bound < 1:
                nearest = max(nearest, stick(joint, growth) / bound)
        worst = times(two_point(*claims[0]), two_point(*claims[1]))
        for growth in GROWTHS:
            assert stick(worst, growth) == formula(claims, growth)  # attained
    assert nearest > F(8, 10)


def test_compose_is_the_finite_formula() -> None:
    claims = [(F(2), F(1, 50)), (F(3, 2), F(0)), (F(3, 2), F(1, 7)), (F(5, 4), F(0))]
    composed = sd.compose([ApproxDP(f"ln({e})", delta=delta) for e, delta in claims])
    whole = math.prod((e for e, _ in claims), start=F(1))
    ends = 1 - math.prod((1 - delta for _, delta in claims), start=F(1))
    for growth in (F(1), F(11, 10), F(2), F(4), whole, whole + 1):
        lower, upper = composed.delta_bounds(f"ln({growth})")
        truth = formula(claims, growth)
        assert F(lower) <= truth <= F(upper) <= truth * (1 + F(1, 10**9))
        assert (truth == ends) == (growth >= whole)


def test_the_printed_form() -> None:
    for k, e, delta in product((1, 2, 3, 5), (F(2), F(5, 4)), (F(0), F(1, 10))):
        for i in range(k // 2 + 1):
            total = sum(
                (math.comb(k, j) * (e ** (k - j) - e ** (k - 2 * i + j)) for j in range(i)), F(0)
            )
            printed = 1 - (1 - delta) ** k * (1 - total / (1 + e) ** k)
            assert printed == formula([(e, delta)] * k, e ** (k - 2 * i))
