"""Poisson runs at tiny rates beside a Fourier series on a window: untilted, and nothing of ours.

With S the loss of all steps, omega = 2 pi n / B, and A <= S < A + B but for a bounded chance,

    delta(e) = sum over n of f_n E e^(i omega S),   f_n the coefficients of (1 - e^(e - x))_+.

E e^(i omega S) = (1 + z)^k, z = E(e^(i omega L) - 1) by the trapezoid rule over y in extended
precision: what cancels is left out before it is summed, so (1 + z)^k is right to about 1e-16
however many steps there are. Half the step of the rule and twice the window change less than 1e-15.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

import smoothdp as sd
from smoothdp.training_runs.directed import DirectedProfile, Way

Extended = np.longdouble
PI = Extended("3.14159265358979323846264338327950288")


class Run:
    """k steps at rate q and noise s: delta of one direction, by the series."""

    def __init__(self, q: str, noise: str, steps: int, way: Way, *, step: float, width: float):
        m = 1 / Extended(noise)
        y = np.arange(-13, 15 + float(m), step).astype(Extended)
        ratio = Extended(q) * np.expm1(m * y - m * m / 2)
        weights = Extended(step) * np.exp(-y * y / 2) / np.sqrt(2 * PI)
        loss = np.log1p(ratio)
        if way == "remove":
            weights = weights * (1 + ratio)
        else:
            loss = -loss
        kept = weights > Extended("1e-40")
        self.weights, self.loss = weights[kept], loss[kept]
        self.steps, self.width = steps, Extended(width)
        self.values = self._values()

    def _values(self) -> np.ndarray:
        """E e^(i omega S) at omega = 2 pi n / B, n = 0, 1, ... until it is below 1e-22."""
        found: list[np.ndarray] = []
        start, block = 0, 64
        while True:
            omega = 2 * PI / self.width * np.arange(start, start + block).astype(Extended)
            half = np.multiply.outer(omega, self.loss) / 2
            sine = np.sin(half)
            real = -2 * (sine * sine) @ self.weights
            imaginary = (2 * sine * np.cos(half)) @ self.weights
            log_size = np.log1p(2 * real + real * real + imaginary * imaginary) / 2
            angle = np.arctan2(imaginary, 1 + real)
            found.append(np.exp(self.steps * log_size) * np.exp(1j * (self.steps * angle)))
            if float(np.abs(found[-1]).max()) < 1e-22:
                return np.concatenate(found)
            start += block

    def delta(self, epsilon: float) -> float:
        """The series for the window from -B / 4 on."""
        e, top = Extended(epsilon), 3 * self.width / 4
        omega = 2 * PI / self.width * np.arange(self.values.size).astype(Extended)
        z = 1j * omega[1:]
        plain = (np.exp(-z * e) - np.exp(-z * top)) / z
        fallen = (np.exp(-z * e) - np.exp(e - (1 + z) * top)) / (1 + z)
        total = top - e + np.expm1(e - top)
        total += 2 * np.sum((plain - fallen) * self.values[1:]).real
        return float(total / self.width)


def outside(q: str, noise: str, steps: int, width: float) -> float:
    """A bound of the chance under both laws that some loss is beyond B / 8, or S beyond the window.

    Markov's inequality for (sum of the losses less than B / 8), exponents +-t: as a float, since it
    is far below what is compared.
    """
    m, rate = 1 / float(noise), float(q)
    large = (math.log(math.expm1(width / 8) / rate) + m * m / 2) / m
    beyond = steps * (
        math.erfc(large / math.sqrt(2)) + rate * math.erfc((large - m) / math.sqrt(2))
    )
    y = np.arange(-13, large, 0.01)
    base = 0.01 * np.exp(-y * y / 2) / math.sqrt(2 * math.pi)
    ratio = rate * np.expm1(m * y - m * m / 2)
    loss, room, chances = np.log1p(ratio), width / 4, [beyond]
    for masses in (base, base * (1 + ratio)):
        for sign in (1, -1):
            chances.append(
                min(
                    math.exp(min(0.0, steps * float(masses @ np.expm1(sign * t * loss)) - t * room))
                    for t in (40 / width, 80 / width, 160 / width, 320 / width, 640 / width)
                )
            )
    return sum(chances)


CASES = [
    ("1e-4", "1", 10_000, 2.0),
    ("1e-6", "1", 1_000_000, 0.5),
    ("1e-5", "0.8", 100_000, 4.0),
    ("1e-6", "0.6", 1_000_000, 8.0),
    ("1e-5", "0.6", 1_000_000, 16.0),
]


@pytest.mark.parametrize(
    ("q", "noise", "steps", "width"),
    [CASES[0], *(pytest.param(*case, marks=pytest.mark.slow) for case in CASES[1:])],
)
@pytest.mark.parametrize("way", ["remove", "add"])
def test_tiny_rates(q: str, noise: str, steps: int, width: float, way: Way) -> None:
    run = Run(q, noise, steps, way, step=0.02, width=width)
    assert outside(q, noise, steps, width) < 1e-11
    whole = sd.compose([(sd.SubsampledGaussian(q, noise_multiplier=noise), steps)])
    ours = DirectedProfile(whole, way)
    for target in ("1e-3", "1e-5", "1e-7"):
        epsilon = round(whole.epsilon(target), 5)
        truth = run.delta(epsilon)
        low, high = ours.delta_bounds(Fraction(str(epsilon)))
        allowed = 1e-12 + 1e-7 * truth
        assert low - allowed <= truth <= high + allowed
