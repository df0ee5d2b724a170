"""Totals of flipped bits and sums of waves, where rounding decides."""

from __future__ import annotations

import math
import random
from fractions import Fraction

import numpy as np
import pytest
from flint import acb, arb

from smoothdp.composition.laws.oscillation import (
    Waves,
    damped_sums,
    oscillating_sums,
    short_step,
)
from smoothdp.exact.parameters.numbers import LogRatio
from smoothdp.exact.probabilities.tilted_window import tilted_window
from smoothdp.shuffle.accounting import flipped_bits
from smoothdp.shuffle.accounting.flip_curve import flip_knots
from smoothdp.shuffle.accounting.flip_kernel import flip_kernel
from smoothdp.shuffle.accounting.flipped_bits import log_flip_delta, log_flip_tail
from tests.checkers.rationals import binomial_law, hockey_stick
from tests.oracles.bit_sums import convolve as convolve_exactly, total_law
from tests.rounding.binomials import binomial_terms
from tests.rounding.certain import between, bits, exact, log_between

F = Fraction


@pytest.mark.parametrize(("n", "odds"), [(1000, 0.02), (4000, 0.7), (10**6, 0.9999997)])
def test_windows(n: int, odds: float) -> None:
    """Masses, steps, and what is left out, each within its own bound; none is 0."""
    window = tilted_window(n, odds, odds_roundings=0)
    size = window.mass.size
    steps, step_error = window.steps()
    p = F(odds) / (1 + F(odds))
    worst_mass = worst_step = 0.0
    with bits():
        terms = binomial_terms(n, p, window.low - 1, window.low + size)
        for place in range(size):
            mass = exact(float(window.mass[place]))
            gap = float(abs(mass / terms[place + 1] - 1))
            worst_mass = max(worst_mass, gap)
            assert gap <= window.error
            if place:
                step = terms[place + 1] - terms[place]
                off = float(abs(exact(float(steps[place])) - step))
                assert off <= window.error * float(abs(step)) + step_error
                worst_step = max(worst_step, off - window.error * float(abs(step)))
        outside = float(1 - sum(terms[1:-1], arb(0)))
    assert 0 < outside <= window.dropped
    assert worst_mass > window.dropped
    if n == 10**6:
        # Beside the mode the relative error does not cover the step.
        assert worst_step > 0


@pytest.mark.parametrize(
    ("q", "n_bits", "growth"), [(F(1, 5), 1, 3), (F(2, 7), 4, 11), (F(1, 9), 3, 2)]
)
@pytest.mark.parametrize("copies", [1, 2])
def test_what_is_left_of_a_kernel(q: Fraction, n_bits: int, growth: int, copies: int) -> None:
    """rho is a float, so that the kernel does not quite sum to 0: by how much is within bounds."""
    kernel = flip_kernel(q, n_bits, LogRatio(F(growth)), copies=copies)
    assert kernel is not None
    rho = F(kernel.tilt)
    sums, total = [], F(0)
    for b in range(n_bits + 1):
        there, here = q**b * (1 - q) ** (n_bits - b), q ** (n_bits - b) * (1 - q) ** b
        total += rho ** (b * copies) * math.comb(n_bits, b) * (there - growth * here)
        sums.append(total)
    left = sums[-1] / max(sums[:-1])
    assert left != 0
    assert F(kernel.residual[0]) <= left <= F(kernel.residual[1])


def one_zero_against_a_one(n: int, q: Fraction, growth: Fraction) -> arb:
    """Return delta of one flipped bit among n zeros: terms until they are nothing."""
    spread = math.sqrt(n * q * (1 - q))
    first, last = max(-1, math.floor(n * q - 40 * spread - 40)), math.ceil(n * q + 8 * spread)
    others = binomial_terms(n, q, first, last)
    q_ball, e = exact(q), exact(growth)
    total = arb(0)
    for place in range(1, len(others)):
        here, before = others[place], others[place - 1]
        gap = (1 - q_ball) * here + q_ball * before - e * (q_ball * here + (1 - q_ball) * before)
        if not gap > 0:
            break
        total += gap
    return total


RNG = random.Random(8)


def case(n: int) -> tuple[int, Fraction, Fraction]:
    """Return (n, q, e^epsilon), epsilon up to eight over the standard deviation."""
    q = F(RNG.randrange(10**5, 4 * 10**5), 10**6)
    return n, q, 1 + F(RNG.randrange(1, 8000), 1000 * math.isqrt(round(n * q * (1 - q))))


CASES = [case(n) for n in (300, 300, 300, 3000, 3000, 3000, 30_000, 30_000, 100_000, 100_000)]


@pytest.mark.parametrize(("n", "q", "growth"), CASES)
def test_delta_of_many_bits(n: int, q: Fraction, growth: Fraction) -> None:
    found = log_flip_delta(n, 0, q, 1, LogRatio(growth))
    assert between(found.lower, lambda: one_zero_against_a_one(n, q, growth).log(), found.upper)
    assert found.upper - found.lower < 1e-9


@pytest.mark.parametrize("hair", [20, 57, 150, 203, 230, 3000])
@pytest.mark.parametrize("n_bits", [1, 2, 3])
def test_delta_next_to_where_it_ends(n_bits: int, hair: int) -> None:
    """A hair below the largest loss no float tilts far enough, and the kernel does not sum to 0."""
    q = F(1, 5)
    growth = ((1 - q) / q) ** n_bits * (1 - F(1, 10**hair))
    others = total_law(2, 1, q)
    first, second = (convolve_exactly(others, list(binomial_law(n_bits, p))) for p in (q, 1 - q))
    found = log_flip_delta(2, 1, q, n_bits, LogRatio(growth))
    assert log_between(found.lower, hockey_stick(first, second, growth), found.upper)
    assert found.upper < -40


@pytest.mark.parametrize(("n", "q"), [(n, q) for n, q, _ in CASES[2:]])
def test_tails_of_many_bits(n: int, q: Fraction) -> None:
    spread = math.sqrt(n * q * (1 - q))
    for place in (-5.0, -0.7, 0.1, 2.0):
        total = round(n * q + place * spread)
        found = log_flip_tail(n, 0, q, total)

        def truth(total: int = total) -> arb:
            terms = binomial_terms(n, q, max(0, math.floor(total - 40 * spread - 60)), total)
            return sum(terms, arb(0)).log()

        assert between(found.lower, truth, found.upper)


@pytest.mark.parametrize(("n", "q"), [(n, q) for n, q, _ in CASES[:6]])
def test_knots_of_many_bits(n: int, q: Fraction) -> None:
    """Every type I error below the truth and every power above it, in a law of its own."""
    alphas, powers = flip_knots(n, 0, q, 1)
    with bits():
        others = binomial_terms(n, q, -1, n + 1)
        low = arb(0)
        alpha = power = low
        q_ball = exact(q)
        truths = []
        for here, before in zip(others[1:], others[:-1], strict=True):
            alpha += q_ball * here + (1 - q_ball) * before
            power += (1 - q_ball) * here + q_ball * before
            truths.append((alpha, power))
        # The first knot is where the windows begin: its place is found by the median.
        middle = alphas.size // 2
        start = min(
            range(len(truths) - alphas.size + 1),
            key=lambda place: abs(float(truths[place + middle][0]) - float(alphas[middle])),
        )
        for (alpha, power), x, y in zip(
            truths[start:], alphas.tolist(), powers.tolist(), strict=False
        ):
            assert not exact(x) > alpha
            assert not exact(y) < power


@pytest.mark.parametrize("seed", range(4))
def test_waves_that_are_left_out_are_counted(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = 60
    waves = Waves(
        rng.uniform(-14, 0, n), rng.uniform(-3, 3, n), rng.normal(0, 2, n), rng.uniform(0, 0.1, n)
    )
    step = short_step(0.01)
    found = damped_sums(waves, first=1, step=step, count=3, budget=1e-2)
    off = 0.0
    with bits():
        t = exact(step)
        truth = sum(
            (
                acb(exact(size) - t * exact(d), exact(phase) + t * exact(x)).exp()
                for size, phase, x, d in zip(*(part.tolist() for part in waves), strict=True)
            ),
            acb(0),
        )
        off = float(abs(truth - acb(complex(found.values[0]))))
    assert 1e-8 < off <= found.constant + found.slope * step


def test_far_waves_turn_by_a_rounded_angle() -> None:
    """At large t it is the angle that errs: more than the constant allows for."""
    rng = np.random.default_rng(9)
    beyond = 0.0
    for x in rng.uniform(10, 100, 30).tolist():
        step = short_step(1.0)
        count = 20_000
        found = oscillating_sums(np.ones(1), np.array([x]), step=step, count=count)
        with bits():
            t = step * (count - 1)
            truth = acb(0, exact(t) * exact(x)).exp()
            off = float(abs(truth - acb(complex(found.values[-1]))))
        assert off <= found.constant + found.slope * t
        beyond = max(beyond, off - found.constant)
    assert beyond > 0


def test_steps_are_rounded_down() -> None:
    """A step that is too long would make the period too short."""
    rng = random.Random(10)
    for step in [math.exp(rng.uniform(-20, 3)) for _ in range(200)]:
        found = short_step(step)
        assert found <= step <= found * (1 + 2.0**-11)
        assert (F(found) / F(2) ** (math.frexp(found)[1] - 12)).denominator == 1


def test_tails_by_transforms(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where both parts are wide: the intervals meet those of plain sums, and are narrow."""
    cases = [(20_000, 15_000, z) for z in (-9, -4, -1, 2)]
    q, found = Fraction(1, 10), []
    for few in (0, 1 << 60):
        monkeypatch.setattr(flipped_bits, "_FEW", few)
        log_flip_tail.cache_clear()
        found.append([log_flip_tail(zeros, ones, q, 15_500 + 56 * z) for zeros, ones, z in cases])
    log_flip_tail.cache_clear()
    for one, other in zip(*found, strict=True):
        assert max(one.lower, other.lower) <= min(one.upper, other.upper)
        assert one.upper - one.lower < 1e-8
        assert other.upper - other.lower < 1e-8
        assert one != other
