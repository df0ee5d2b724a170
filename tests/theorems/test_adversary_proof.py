"""Statements of docs/proofs/adversary.md on random laws, in exact rationals."""

from __future__ import annotations

import random
from fractions import Fraction

F = Fraction
Laws = list[list[Fraction]]


def random_laws(rng: random.Random, m: int) -> Laws:
    laws = []
    for _ in range(m):
        weights = [rng.choice([0, 0, 1, 2, 9, 400]) for _ in range(m + 1)] + [rng.choice([1, 60])]
        laws.append([F(w, sum(weights)) for w in weights])
    return laws


def gain(laws: Laws, growth: Fraction, truth: int) -> Fraction:
    """u_X by its definition."""
    threshold, total = growth / (growth + 1), F(0)
    for y, p in enumerate(laws[truth]):
        if p:
            best = max(law[y] for law in laws) / sum(law[y] for law in laws)
            total += p * max(F(0), best - threshold)
    return total / (1 - threshold)


def named(laws: Laws, growth: Fraction, truth: int) -> Fraction:
    """u_X by statement 1."""
    total = F(0)
    for law in laws:
        for y, p in enumerate(law):
            others = sum((other[y] for other in laws), F(0)) - p
            if p > growth * others:
                total += laws[truth][y] * (p - growth * others) / (p + others)
    return total


def stick(p: list[Fraction], q: list[Fraction], growth: Fraction) -> Fraction:
    return sum((max(F(0), a - growth * b) for a, b in zip(p, q, strict=True)), F(0))


def delta_at(laws: Laws, growth: Fraction, here: int) -> Fraction:
    """The largest hockey stick of one value against the others."""
    pairs = [(here, j) for j in range(len(laws)) if j != here]
    return max(stick(laws[a], laws[b], growth) for i, j in pairs for a, b in ((i, j), (j, i)))


def test_the_gain_by_named_values() -> None:
    rng, seen = random.Random(41), 0
    for _ in range(300):
        m, growth = rng.choice([2, 3, 5]), rng.choice([F(1), F(5, 4), F(4)])
        laws = random_laws(rng, m)
        for truth in range(m):
            assert gain(laws, growth, truth) == named(laws, growth, truth)
            seen += named(laws, growth, truth) > 0
    assert seen > 100


def test_gains_are_bounded() -> None:
    """Statements 3 and 4; the constant of 3 does not hold for any record, nor 1 for its own."""
    rng, above_one = random.Random(42), 0
    for _ in range(1500):
        m, growth = rng.choice([2, 3, 4]), rng.choice([F(1), F(5, 4), F(4)])
        laws = random_laws(rng, m)
        deltas = [delta_at(laws, growth, c) for c in range(m)]
        gains = [gain(laws, growth, c) for c in range(m)]
        own = 1 + F(m - 1) / (m - 1 + growth)
        for u, delta in zip(gains, deltas, strict=True):
            assert u <= own * delta
            above_one += u > delta
        for delta in deltas:
            assert max(gains) <= (1 + F(m - 1) / (growth + 1)) * delta
    assert above_one > 0
    # The constant of statement 3 is for the database's own record: 15 values, E = 2.
    shared = [[F(1)] * 13 + [F(0), F(87)], [F(2)] * 13 + [F(12), F(62)]]
    shared += [[F(14 * (c == y)) for y in range(14)] + [F(86)] for c in range(13)]
    laws = [[w / 100 for w in law] for law in shared]
    assert delta_at(laws, F(2), 0) == F(12, 100)
    assert gain(laws, F(2), 1) == F(12, 100) + 13 * F(2, 100) * F(8, 17) > 2 * F(12, 100)


def test_far_ratios() -> None:
    rng, nearest = random.Random(43), F(0)
    for _ in range(3000):
        growth = rng.choice([F(1), F(11, 10), F(2)])
        p, q = random_laws(rng, 2)
        delta = max(stick(p, q, growth), stick(q, p, growth))
        far = sum(
            (a for a, b in zip(p, q, strict=True) if a > 2 * growth * b or 2 * growth * a < b), F(0)
        )
        assert far <= (2 + 1 / growth) * delta
        nearest = max(nearest, far / delta if delta else F(0))
    assert nearest > F(1, 2)
    p, q = [F(2000), F(904), F(7096)], [F(904), F(2000), F(7096)]
    growth = F(110518, 100000)  # a little above e^.1: both ratios are still beyond 2E
    delta = stick(p, q, growth) / 10**4
    assert delta == stick(q, p, growth) / 10**4
    assert p[0] > 2 * growth * q[0]
    assert (p[0] + p[1]) / 10**4 > 2 * delta
