"""Statements of docs/proofs/flipped-bits.md, in exact rationals."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise, product
from statistics import NormalDist

import pytest

from smoothdp.shuffle.accounting.flip_mu import exact_mu, is_mu_at_most

F = Fraction
Law = list[Fraction]
FLIPS = (F(1, 20), F(1, 5), F(2, 5))
GROWTHS = (F(1), F(11, 10), F(2), F(7))


def bits(zeros: int, ones: int, flip: Fraction) -> Law:
    """The law of the total of flipped bits, one bit after another."""
    law = [F(1)]
    for chance in [flip] * zeros + [1 - flip] * ones:
        law = [
            (1 - chance) * here + chance * before
            for here, before in zip([*law, F(0)], [F(0), *law], strict=True)
        ]
    return law


def stick(p: Law, q: Law, growth: Fraction) -> Fraction:
    return sum((max(F(0), a - growth * b) for a, b in zip(p, q, strict=True)), F(0))


def total(zeros: int, ones: int, flip: Fraction, r: int, m: int) -> Law:
    return bits(zeros + r - m, ones + m, flip)


def worst(zeros: int, ones: int, flip: Fraction, r: int, growth: Fraction) -> Fraction:
    """D(zeros, ones)."""
    return stick(total(zeros, ones, flip, r, 0), total(zeros, ones, flip, r, r), growth)


CASES = list(product(range(4), range(4), FLIPS, (1, 2, 3)))


def test_the_reverse_direction_is_the_mirror_image() -> None:
    for z, o, q, r in CASES:
        for growth in GROWTHS:
            back = stick(total(z, o, q, r, r), total(z, o, q, r, 0), growth)
            assert back == worst(o, z, q, r, growth)


def test_the_likelihood_ratio_is_monotone() -> None:
    for z, o, q, r in CASES:
        for m in range(r):
            p, other = total(z, o, q, r, m), total(z, o, q, r, m + 1)
            ratios = [a / b for a, b in zip(p, other, strict=True)]
            assert ratios == sorted(ratios, reverse=True)


@pytest.mark.parametrize("copies", [1, 2, 3])
def test_the_likelihood_ratio_is_monotone_with_copies(copies: int) -> None:
    for z, o, q, r in CASES:
        laws = []
        for m in range(r + 1):
            law = [F(0)] * (z + o + copies * r + 1)
            for (y, mass), (b, own) in product(
                enumerate(bits(z, o, q)), enumerate(bits(r - m, m, q))
            ):
                law[y + copies * b] += mass * own
            laws.append(law)
        for fewer, more in pairwise(laws):
            ratios = [a / b for a, b in zip(fewer, more, strict=True) if b]
            assert [bool(a) for a in fewer] == [bool(b) for b in more]
            assert ratios == sorted(ratios, reverse=True)


@pytest.mark.parametrize("r", [1, 2, 3])
def test_all_zeros_against_all_ones_is_the_worst(r: int) -> None:
    """Every pair of inputs, mixtures of two neighbouring ones included, in both directions."""
    for z, o, q in product(range(3), range(3), FLIPS):
        laws = [total(z, o, q, r, m) for m in range(r + 1)]
        for share, m in product((F(1, 3), F(3, 4)), range(r)):
            mixed = zip(laws[m], laws[m + 1], strict=True)
            laws.append([share * a + (1 - share) * b for a, b in mixed])
        for growth in GROWTHS:
            most = max(worst(z, o, q, r, growth), worst(o, z, q, r, growth))
            assert max(stick(a, b, growth) for a, b in product(laws, repeat=2)) == most


def test_fewer_bits_show_more() -> None:
    for z, o, q, r in CASES:
        for growth in GROWTHS:
            here = worst(z, o, q, r, growth)
            assert worst(z + 1, o, q, r, growth) <= here
            assert worst(z, o + 1, q, r, growth) <= here


def test_more_flips_more_privacy() -> None:
    """Also step by step: one more flip of each bit leads from one law to the other."""
    for z, o, r in product(range(4), range(4), (1, 2)):
        for q, larger in ((F(1, 20), F(1, 5)), (F(1, 5), F(2, 5)), (F(2, 5), F(9, 20))):
            s = (larger - q) / (1 - 2 * q)
            for m in (0, r):
                before, after = total(z, o, q, r, m), total(z, o, larger, r, m)
                flipped = [F(0)] * len(before)
                for y, mass in enumerate(before):
                    for v, chance in enumerate(bits(len(before) - 1 - y, y, s)):
                        flipped[v] += mass * chance
                assert flipped == after
            for growth in GROWTHS:
                assert worst(z, o, larger, r, growth) <= worst(z, o, q, r, growth)


def test_mu_is_the_same_for_zeros_and_ones() -> None:
    """Literally, by the laws of both, and the worst data have as many zeros as ones or more."""

    def mu(z: int, o: int, q: Fraction, r: int) -> float:
        normal, laws = NormalDist(), [total(z, o, q, r, m) for m in (0, r)]
        sums = [[float(sum(law[: t + 1])) for t in range(z + o + r)] for law in laws]
        return max(normal.inv_cdf(p) - normal.inv_cdf(a) for p, a in zip(*sums, strict=True))

    for z, o, q, r in CASES:
        assert mu(z, o, q, r) == pytest.approx(mu(o, z, q, r), rel=1e-9)
    for n_others, q, r in product((3, 8), FLIPS, (1, 2)):
        values = [mu(n_others - k, k, q, r) for k in range(n_others + 1)]
        lower, upper = exact_mu(q, r, n_others)
        assert lower <= max(values) * (1 + 1e-9)
        assert max(values) * (1 - 1e-9) <= upper <= max(values) * (1 + 1e-8)
        assert not is_mu_at_most(max(values) * 0.999, flip=q, n_bits=r, n_others=n_others)
