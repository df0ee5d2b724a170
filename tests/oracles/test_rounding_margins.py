"""Cases in which a margin decides: the margin of `near_maxima`, the stretch of Theorem A's pieces.

Each has a twin that leaves the margin out and gets it wrong, so that it cannot be dropped unseen.
The truth is decided at 300 bits, by code that shares nothing with the library.
"""

from __future__ import annotations

import random
from fractions import Fraction

import numpy as np
import pytest
from mpmath import asinh, cosh, exp, inf, log, mp, mpf, quad, sinh

from smoothdp.exact.logspace.bounds import LogBounds
from smoothdp.noise import ArsinhNormal
from smoothdp.noise.calibration.concentrated import certificate
from smoothdp.noise.calibration.concentrated.promise import Promise
from smoothdp.queries.sensitivity import near_maxima, row_maxima
from smoothdp.queries.sensitivity.clamped_inputs import ClampedInputs
from smoothdp.types import FloatArray

UNIT = (Fraction(0), Fraction(1))


# ---- pairs that floats cannot order ----------------------------------------------------------


def level_column(seed: int) -> tuple[FloatArray, Fraction]:
    """Return values e^(rate q) in floats: every distance serves alike, up to their rounding."""
    rng = random.Random(seed)
    rate = Fraction(rng.choice(["0.1", "0.07", "0.013", "0.3"]))
    count = rng.randint(20, 60)
    # All values, and what the bound 1 gives, stay below 1.
    scale = np.exp(-float(rate) * (count - rng.uniform(0.1, 0.9)))
    return np.array([0.0, *(scale * np.exp(float(rate) * q) for q in range(count))]), rate


def best_distance(x: FloatArray, rate: Fraction) -> int:
    """Return the k with the largest e^(-rate k) u_(k+1) for the minimum, at 300 bits."""
    with mp.workprec(300):
        slope = mpf(rate.numerator) / rate.denominator
        gains = [mpf(v) for v in x[1:].tolist()] + [mpf(1)]
        return max(range(len(gains)), key=lambda k: log(gains[k]) - slope * k)


def found_distance(x: FloatArray, rate: Fraction) -> int:
    return ClampedInputs(x, (0, len(x) - 1), UNIT).largest(rate)[0]


SEEDS = range(150)


def lost() -> int:
    """Return in how many columns the maximiser is missed."""
    missed = 0
    for seed in SEEDS:
        x, rate = level_column(seed)
        try:
            missed += found_distance(x, rate) != best_distance(x, rate)
        except IndexError:
            # No pair is left at all.
            missed += 1
    return missed


@pytest.mark.parametrize("all_pairs", [near_maxima._ALL_PAIRS, 0], ids=["all pairs", "by rows"])
def test_near_maxima_keep_every_maximiser(all_pairs: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(near_maxima, "_ALL_PAIRS", all_pairs)
    assert lost() == 0


@pytest.mark.parametrize("all_pairs", [near_maxima._ALL_PAIRS, 0], ids=["all pairs", "by rows"])
def test_without_the_margin_maximisers_are_lost(
    all_pairs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(near_maxima, "_ALL_PAIRS", all_pairs)
    monkeypatch.setattr(row_maxima.PairTable, "error", lambda *_: 0.0)
    assert lost() >= 20


def test_without_the_margin_of_all_pairs_maximisers_are_lost(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(near_maxima, "_margin", lambda *_: 0.0)
    assert lost() >= 20


# ---- pieces of Theorem A that were guessed too long ---------------------------------------------


def reverse_divergence(sigma: Fraction, s: mpf, t: mpf, order: mpf) -> mpf:
    """Return D_order(e^t Z + s || Z), Z arsinh-normal, by quadrature at 300 bits.

    In y with x = e^t sinh(sigma y) / sigma + s, Y standard normal.
    """
    a = mpf(sigma.numerator) / sigma.denominator

    def log_density(x: mpf) -> mpf:
        u = asinh(a * x) / a
        return -u * u / 2 - log(1 + (a * x) ** 2) / 2 - log(2 * mp.pi) / 2

    def integrand(y: mpf) -> mpf:
        z = sinh(a * y) / a
        loss = log_density(z) - t - log_density(exp(t) * z + s)
        return exp((order - 1) * loss + log_density(z)) * cosh(a * y)

    return log(quad(integrand, [-inf, -12, -4, 0, 4, 12, inf])) / (order - 1)


CASES = [
    pytest.param("0.8", "0.02", "0.1", "0.18807", marks=pytest.mark.slow),
    ("0.79", "0.125", "0.25", "0.50645"),
]
"""sigma, rho, t and a shift about 1e-4 below the largest."""


def worst_order(law: ArsinhNormal, shift: Fraction, t: Fraction, rho: Fraction) -> float:
    """Return b for which D_(1+b) is nearest to its limit; a guess, that the quadrature judges."""
    grid = [float(b) for b in np.geomspace(0.05, 500, 30)]

    def ratio(b: float) -> float:
        bounds = law.renyi_bounds(1 + Fraction(b), shift=shift, dilation=t, direction="reverse")
        return bounds[0] / (float(rho) * (1 + b))

    return max(grid, key=ratio)


@pytest.mark.parametrize(("sigma", "rho", "t", "s"), CASES)
def test_a_piece_is_checked_at_the_stretched_shift(
    sigma: str, rho: str, t: str, s: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With pieces guessed as long as [0, t], only s e^(v - u) shows that they are too long."""
    law, shift = ArsinhNormal(sigma), Fraction(s)
    promise = Promise(Fraction(rho), None, Fraction(t))
    # The shift is good, and pieces of the right length show it.
    assert certificate.cover(law, promise, shift) is not None
    monkeypatch.setattr(certificate, "stretch", lambda *_: float(promise.smoothing))
    # Three halvings of a guess are tried: down to t / 8, which is still too long.
    assert certificate.cover(law, promise, shift) is None
    shortest = Fraction("0.98") * promise.smoothing / 8
    b = Fraction(worst_order(law, shift * (1 + shortest), promise.smoothing, promise.rho))
    with mp.workprec(300):
        stretched = rational(shift) * exp(rational(shortest))
        order = 1 + rational(b)
        found = reverse_divergence(law.exact_sigma, stretched, rational(promise.smoothing), order)
        assert found > order * rational(promise.rho)
    # The twin: at the shift itself every piece, however long, is waved through.
    monkeypatch.setattr(certificate, "exp_bounds", lambda _: LogBounds(1.0, 1.0))
    assert certificate.cover(law, promise, shift) == 2


def rational(value: Fraction) -> mpf:
    return mpf(value.numerator) / value.denominator
