"""Each statement of docs/proofs/random-users.md, against exact laws."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations
from typing import Any

import pytest

from smoothdp import paper_bounds as pb
from smoothdp.shuffle.flipped.boolean_sum import BooleanSum

F = Fraction


def binomial(size: int) -> list[Fraction]:
    return [F(math.comb(size, j), 2**size) for j in range(size + 1)]


def stick(p: list[Fraction], q: list[Fraction], growth: Fraction) -> Fraction:
    return sum((max(F(0), a - growth * b) for a, b in zip(p, q, strict=True)), F(0))


@pytest.mark.parametrize("delta", [F(9, 10), F(1, 2), F(1, 100), F(1, 10**6)])
def test_a_fixed_set(delta: Fraction) -> None:
    """From the smallest h that is allowed on; with an eighth of F it is false."""
    log_four = math.log(4 / delta)
    least = math.floor(8 * log_four) + 1
    for size in (least, least + 1, least + 2, 2 * least, 5 * least):
        excess = math.sqrt(32 * log_four / size)
        p, q = [*binomial(size), F(0)], [F(0), *binomial(size)]
        assert stick(p, q, 1 + F(excess)) <= delta / 2
        assert stick(q, p, 1 + F(excess)) <= delta / 2
        found = pb.cheu_fixed_set_epsilon(n_random_users=size, delta=delta)
        assert found == pytest.approx(math.log1p(excess), rel=1e-12)
    assert stick(p, q, 1 + F(excess) / 8) > delta / 2 or delta > F(1, 100)


def test_users_who_choose() -> None:
    """The exact profile of the Boolean sum lies below the bound, over all data."""
    seen = 0
    for n, delta in ((60, "0.9"), (200, "0.1"), (1000, "1e-3"), (1000, "1e-6")):
        least = 14 * math.log(4 / float(delta))
        for users in (least * 1.0001, 0.5 * n, 0.9 * n):
            if not least <= users < n:
                continue
            share = F(users).limit_denominator(10**6)
            epsilon = pb.cheu_epsilon(n_users=n, expected_random_users=share, delta=delta)
            exact = BooleanSum(n, expected_random_users=share).profile().delta(F(epsilon))
            assert exact <= float(delta)
            seen += epsilon < math.inf
    assert seen >= 8
    assert pb.cheu_epsilon(n_users=1000, expected_random_users=400, delta="1e-6") == pytest.approx(
        0.91307, abs=1e-5
    )


def test_the_step_of_the_proof_with_a_random_set() -> None:
    """D at 1 + p F is at most p max(D(B, A), D(B, B')) at 1 + F, for all small data and sets."""
    n = 5

    def law(x: tuple[int, ...], random_users: tuple[int, ...]) -> list[Fraction]:
        shift = sum(v for k, v in enumerate(x) if k not in random_users)
        row = [F(0)] * (n + 1)
        for j, mass in enumerate(binomial(len(random_users))):
            row[shift + j] += mass
        return row

    def mixture(rows: list[list[Fraction]]) -> list[Fraction]:
        return [sum(column, F(0)) / len(rows) for column in zip(*rows, strict=True)]

    for size in (1, 2, 4):
        for ones in range(n):
            x = (0, *(1,) * ones, *(0,) * (n - 1 - ones))
            y = (1, *x[1:])
            sets = list(combinations(range(n), size))
            here, there = (mixture([law(z, s) for s in sets]) for z in (x, y))
            inside = mixture([law(x, s) for s in sets if 0 in s])
            out, out_there = (mixture([law(z, s) for s in sets if 0 not in s]) for z in (x, y))
            share = 1 - F(size, n)
            assert here == [(1 - share) * a + share * b for a, b in zip(inside, out, strict=True)]
            for excess in (F(1, 4), F(1), F(3)):
                worst = max(stick(out, inside, 1 + excess), stick(out, out_there, 1 + excess))
                assert stick(here, there, 1 + share * excess) <= share * worst
                # Both are bounded by a shift by one of a binomial law.
                p, q = [*binomial(size), F(0)], [F(0), *binomial(size)]
                assert worst <= max(stick(p, q, 1 + excess), stick(q, p, 1 + excess))


def test_it_falls_in_lambda_and_delta() -> None:
    before = math.inf
    for users in range(215, 1000, 5):
        value = pb.cheu_epsilon(n_users=1000, expected_random_users=users, delta="1e-6")
        assert value < before
        before = value
    before = math.inf
    for exponent in range(12, 0, -1):
        value = pb.cheu_epsilon(n_users=1000, expected_random_users=450, delta=F(1, 10**exponent))
        assert value < before
        before = value
    # Below 14 L nothing is said.
    assert pb.cheu_epsilon(n_users=1000, expected_random_users=212, delta="1e-6") == math.inf


def test_their_choice() -> None:
    cases = 0
    for n in (10**3, 10**5, 10**7):
        for delta in (F(1, 10), F(1, 10**6)):
            log_four = math.log(4 / delta)
            for epsilon in (0.003, 0.02, 0.1, 0.4, 1.0, 2.0):
                users = pb.cheu_choice(n_users=n, epsilon=F(epsilon), delta=delta)
                second = epsilon < math.sqrt(192 * log_four / n)
                if users < 14 * log_four or (second and epsilon < math.sqrt(3456) * log_four / n):
                    continue
                found = pb.cheu_epsilon(n_users=n, expected_random_users=F(users), delta=delta)
                assert found < 0.9 * epsilon
                cases += 1 + 100 * second
    assert cases > 500
    # Without the condition of the second case: n = 1000, epsilon = 1/1000.
    users = pb.cheu_choice(n_users=1000, epsilon="0.001", delta="1e-6")
    assert pb.cheu_epsilon(n_users=1000, expected_random_users=F(users), delta="1e-6") > 0.1


def clone_bound(n: int, flip: Fraction, clone: Fraction, growth: Fraction) -> Fraction:
    """The right side of statement 5, by its sums of positive parts."""
    g, k = 1 - flip - growth * flip, growth * (1 - flip) - flip
    total = F(0)
    for c in range(n):
        p, q = [*binomial(c), F(0)], [F(0), *binomial(c)]
        gains = sum((max(F(0), g * a - k * b) for a, b in zip(p, q, strict=True)), F(0))
        total += math.comb(n - 1, c) * clone**c * (1 - clone) ** (n - 1 - c) * gains
    return total


def total_of(bits: tuple[int, ...], flip: Fraction) -> list[Fraction]:
    """The law of the sum of bits that are flipped independently."""
    law = [F(1)]
    for bit in bits:
        one = 1 - flip if bit else flip
        law = [
            (law[j] * (1 - one) if j < len(law) else F(0)) + (law[j - 1] * one if j else F(0))
            for j in range(len(law) + 1)
        ]
    return law


def test_clones() -> None:
    """All data of six users; for more clones than random users it is false."""
    n, broken = 6, 0
    for share in (F(1, 5), F(4, 5)):
        flip = share / 2
        for growth in (F(1), F(6, 5), F(2), F(8)):
            new, old = (clone_bound(n, flip, c, growth) for c in (share, flip / (1 - flip)))
            for ones in range(n):
                rest = (1,) * ones + (0,) * (n - 1 - ones)
                here, there = total_of((0, *rest), flip), total_of((1, *rest), flip)
                truth = max(stick(here, there, growth), stick(there, here, growth))
                assert truth <= new <= old
                broken += truth > clone_bound(n, flip, F(1), growth)
            given: dict[str, Any] = {
                "n_users": n,
                "expected_random_users": share * n,
                "epsilon": f"ln({growth})",
            }
            for bound, exact in (
                (pb.clones_delta(**given), new),
                (pb.clones_2021_delta(**given), old),
            ):
                assert exact <= F(bound) <= exact * (1 + F(1, 10**9)) + F(1, 10**20)
            g = 1 - flip - growth * flip
            for c in range(n):
                first, second = [*binomial(c), F(0)], [F(0), *binomial(c)]
                gains = [g * a - (g + growth - 1) * b for a, b in zip(first, second, strict=True)]
                whole = sum((max(F(0), v) for v in gains), F(0))
                if g <= 0:
                    assert whole == 0
                    continue
                tau = g / ((1 - 2 * flip) * (1 + growth))
                t = math.floor(tau * (c + 1))
                assert whole == g * first[t] - (growth - 1) * sum(first[:t], F(0))
    assert broken > 0


def test_the_blanket_is_the_same_number() -> None:
    for n, share, growth in ((4, F(1, 3), F(3, 2)), (7, F(3, 5), F(1)), (7, F(3, 5), F(6, 5))):
        flip = share / 2
        up, down = 2 * (1 - flip - growth * flip), 2 * (growth * (1 - flip) - flip)
        total = F(0)
        for m in range(1, n + 1):
            mean = sum(
                (p * max(F(0), (m - b) * up - b * down) for b, p in enumerate(binomial(m))), F(0)
            )
            total += math.comb(n, m) * share**m * (1 - share) ** (n - m) * mean
        assert total / (share * n) == clone_bound(n, flip, share, growth)
