"""Bounds of cancelling pairs against 300 bits, without any tolerance: each slack is needed.

The laws are exact rationals, user by user; p = e^-rho is a ball of 300 bits.
"""

from __future__ import annotations

import math
import random
from fractions import Fraction

import numpy as np
import pytest
from flint import arb

from smoothdp.exact.balls.balls import ball, precision
from smoothdp.exact.logspace.bounds import LogBounds
from smoothdp.shuffle.paired.accuracy import LeftNoise
from smoothdp.shuffle.paired.clump_law import ClumpLaw, clump_law, mean_pairs
from smoothdp.shuffle.paired.exact_delta import decayed_sums, log_delta_of
from smoothdp.shuffle.paired.geometric_shares import (
    difference_tails,
    mean_of_share,
    share_law,
    variance_of_difference,
)
from smoothdp.shuffle.paired.moved_user import BinAtoms, bin_atoms, log_moved, row_atoms
from smoothdp.shuffle.paired.noise_cap import least_slots, noise_tails, overflow_of
from smoothdp.shuffle.paired.view_rows import replaced_sign, view_rows
from tests.theorems.test_paired_counts_proof import pairs_law

BITS = 300
rnd = random.Random(24)
DESIGNS = [
    (
        rnd.randint(1, 7),
        Fraction(rnd.randint(1, 60), 30),
        Fraction(rnd.randint(1, 19), 20),
        rnd.randint(1, 4),
    )
    for _ in range(40)
]
"""Honest users, rate, clump probability, largest clump."""


def holds(bounds: LogBounds, truth: arb) -> bool:
    """Whether a truth lies between bounds of its logarithm, for certain."""
    low = bounds.lower == -math.inf or arb(bounds.lower) <= truth.log()
    return bool(low) and bool(
        truth <= 0 if bounds.upper == -math.inf else truth.log() <= arb(bounds.upper)
    )


def positive(value: arb) -> arb:
    return value if value > 0 else arb(0)


def sums(law: list[Fraction], p: arb) -> list[arb]:
    found, total = [], arb(0)
    for mass in law:
        total = p * p * total + ball(mass)
        found.append(total)
    return found


def true_delta(law: list[Fraction], rate: Fraction, epsilon: Fraction) -> arb:
    p = (-ball(rate)).exp()
    before = [arb(0), *sums(law, p)]
    excess = ball(epsilon).exp() - 1
    parts = [positive(ball(m) - excess * p * p * s) for m, s in zip(law, before, strict=False)]
    return (1 - p) * sum(parts, arb(0))


@pytest.mark.parametrize("design", DESIGNS)
def test_delta_of_a_count(design: tuple[int, Fraction, Fraction, int]) -> None:
    h, rate, chance, largest = design
    exact = pairs_law(h, chance, largest)
    with precision(BITS):
        for depth in (60.0, 4.0):
            law = clump_law(h, chance, largest, depth=depth)
            for epsilon in (Fraction(1, 7), 2 * rate, Fraction(5, 2)):
                truth = true_delta(exact, rate, epsilon)
                assert holds(log_delta_of(law, rate, epsilon), truth)


@pytest.mark.parametrize("design", DESIGNS[:12])
def test_sums_and_atoms(design: tuple[int, Fraction, Fraction, int]) -> None:
    h, rate, chance, largest = design
    law = clump_law(h, chance, largest, depth=60.0)
    found, error = decayed_sums(law, rate)
    atoms = bin_atoms(law, rate)
    with precision(BITS):
        p = (-ball(rate)).exp()
        exact = sums(pairs_law(h, chance, largest), p)
        for s, truth in zip(found.tolist(), exact, strict=True):
            assert abs(arb(s) - truth) <= arb(error) * truth
        last = exact[-1] / (1 + p)
        without = [(1 - p) * s for s in exact] + [p / (1 + p) + p * p * last]
        having = [(1 - p) * p * s for s in [arb(0), *exact[:-1]]] + [1 / (1 + p) + p * last]
        for masses, truths in ((atoms.without, without), (atoms.having, having)):
            for mass, truth in zip(masses.tolist(), truths, strict=True):
                assert abs(arb(mass) - truth) <= arb(atoms.error) * truth
        pairs = list(zip(without, having, strict=True))
        # At 2 rho the largest and the least ratio of the bulk agree: ties.
        for epsilon in (Fraction(1, 7), 2 * rate, Fraction(3)):
            growth = ball(epsilon).exp()
            truth = sum(
                (positive(b * c - growth * a * d) for a, b in pairs for c, d in pairs), arb(0)
            )
            assert holds(log_moved(atoms, epsilon), truth) or tied(truth)


@pytest.mark.parametrize("sense", [-1.0, 1.0])
def test_masses_that_are_off_by_what_is_said(sense: float) -> None:
    """Laws whose masses are off by a millionth and say so: bounds still enclose the truth."""
    off = 1 + sense * 1e-6
    for h, rate, chance, largest in DESIGNS[:8]:
        exact = pairs_law(h, chance, largest)
        law = clump_law(h, chance, largest, depth=60.0)
        turned = law.masses * np.where(np.arange(law.masses.size) % 2, off, 1 / off)
        wrong = ClumpLaw(turned, law.error + 2e-6, 0.0)
        atoms = bin_atoms(law, rate)
        moved = BinAtoms(atoms.without * off, atoms.having / off, 2e-6, 0.0)
        for epsilon in (Fraction(1, 7), Fraction(1), Fraction(5, 2)):
            with precision(BITS):
                truth = true_delta(exact, rate, epsilon)
                assert holds(log_delta_of(wrong, rate, epsilon), truth)
            near, found = log_moved(atoms, epsilon), log_moved(moved, epsilon)
            assert found.lower <= near.lower <= near.upper <= found.upper


def tied(truth: arb) -> bool:
    return bool(truth.contains(arb(0)))


@pytest.mark.parametrize("depth", [3.0, 8.0, 60.0])
def test_what_is_left_out_of_rows(depth: float) -> None:
    """At the design's honest users the rows must enclose what the one sum gives."""
    for h, rate, chance, largest in DESIGNS[:10]:
        if rate < Fraction(1, 3):
            continue
        rows = view_rows(h, h, rate, chance, largest, depth=depth)
        exact = pairs_law(h, chance, largest)
        whole = ClumpLaw(np.array([float(m) for m in exact]), 1e-15, 0.0)
        for epsilon in (Fraction(1, 7), Fraction(3, 2)):
            with precision(BITS):
                assert holds(replaced_sign(rows, epsilon), true_delta(exact, rate, epsilon))
            moved = log_moved(bin_atoms(whole, rate), epsilon)
            found = log_moved(row_atoms(rows), epsilon)
            assert found.lower <= moved.upper
            assert found.upper >= moved.lower


@pytest.mark.parametrize("shape", [Fraction(1, 900_000_000), Fraction(1, 7), Fraction(37, 5)])
@pytest.mark.parametrize("rate", [Fraction(1, 11), Fraction(9, 20), Fraction(3)])
def test_shares(shape: Fraction, rate: Fraction) -> None:
    for depth in (6.0, 60.0):
        law = share_law(shape, rate, depth=depth)
        with precision(BITS):
            p, r = (-ball(rate)).exp(), ball(shape)
            mass, total = (r * (1 - p).log()).exp(), arb(0)
            for k, found in enumerate(law.masses.tolist()):
                assert abs(arb(found) - mass) <= arb(law.error) * mass
                total += mass
                mass *= (r + k) / (k + 1) * p
            assert 1 - total <= arb(law.outside)


def test_tails_of_the_difference() -> None:
    """At shape 1 in closed form."""
    for rate in (Fraction(1, 30), Fraction(9, 20), Fraction(3)):
        tails = difference_tails(Fraction(1), rate, depth=30.0)
        with precision(BITS):
            p = (-ball(rate)).exp()
            for a in range(tails.size - 1):
                assert arb(float(tails[a + 1])) >= 2 * p ** (a + 1) / (1 + p)
            spread, mean = (
                variance_of_difference(Fraction(1), rate),
                mean_of_share(Fraction(1), rate),
            )
            assert arb(spread) >= 2 * p / (1 - p) ** 2
            assert arb(mean) >= p / (1 - p)


def test_the_cap() -> None:
    """m0 times the probability of more than K - 1 messages, summed in balls."""
    for design, rate, chance, largest in (
        (3, Fraction(1), Fraction(1, 5), 2),
        (900, Fraction(9, 20), Fraction(1, 9), 1),
    ):
        tails = noise_tails(1, design, rate, chance, largest)
        with precision(BITS):
            p, r = (-ball(rate)).exp(), 2 / ball(design)
            signs = [(r * (1 - p).log()).exp()]
            for k in range(400):
                signs.append(signs[-1] * (r + k) / (k + 1) * p)
            clumps = pairs_law(1, chance, largest)
            for slots in (3, 9, 20, 35):
                fits = sum(
                    (
                        ball(mass) * sum(signs[: slots - 2 * j], arb(0))
                        for j, mass in enumerate(clumps)
                        if slots - 2 * j > 0
                    ),
                    arb(0),
                )
                truth = design * (1 - fits)
                found = overflow_of(tails, design, slots)
                assert ball(found) >= truth or found == 1
                assert found == 1 or ball(found) <= truth * arb("1.000001") + arb("1e-100")
                if found < 1:
                    assert least_slots(tails, design, found * Fraction(1001, 1000)) == slots


def test_redrawing_is_counted_in_errors() -> None:
    """A failure that is met to the last digit without the cap is not met with it."""
    p = math.exp(-0.9)
    exact = Fraction(2 * p**4 / (1 + p))
    free = LeftNoise(Fraction(1), Fraction(9, 10), Fraction(0))
    capped = LeftNoise(Fraction(1), Fraction(9, 10), Fraction(1, 10**6))
    assert free.reach(exact * (1 + Fraction(1, 10**7))) == 3
    assert capped.reach(exact * (1 + Fraction(1, 10**7))) == 4
    assert capped.variance() > free.variance()


def test_the_mean_of_pairs() -> None:
    for h, _, chance, largest in DESIGNS:
        law = pairs_law(h, chance, largest)
        assert mean_pairs(h, chance, largest) == sum(
            (c * m for c, m in enumerate(law)), Fraction(0)
        )
