"""Compositions whose truth is known, written without the code under test.

Gaussian parts by the closed form and Arb; randomised response by binomial sums, exact in
integers where no Gaussian is in the mixture.
"""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from flint import arb, ctx, fmpq

from smoothdp import ApproxDP, GaussianDP, PureDP
from smoothdp.exact.parameters.numbers import LogRatio

Group = tuple[Fraction, int]
"""The odds e^epsilon of a randomised response, and how often it is used."""


@dataclass(frozen=True)
class Case:
    """A composition, an epsilon (as the growth e^epsilon if it is rational) and its parts."""

    gaussians: tuple[tuple[Fraction, int], ...]
    responses: tuple[Group, ...]
    infinite: Fraction
    growth: Fraction | None
    epsilon: Fraction | None

    def items(self) -> list[Any]:
        found: list[Any] = [(GaussianDP(mu), count) for mu, count in self.gaussians]
        found += [(PureDP(LogRatio(odds)), count) for odds, count in self.responses]
        if self.infinite:
            found.append(ApproxDP(0, delta=self.infinite))
        return found

    def at(self) -> Fraction | LogRatio:
        if self.growth is not None:
            return LogRatio(self.growth) if self.growth != 1 else Fraction(0)
        assert self.epsilon is not None
        return self.epsilon


def total_laws(groups: tuple[Group, ...]) -> Iterator[tuple[Fraction, Fraction]]:
    """Yield (probability, likelihood ratio) of every total of randomised responses."""
    choices = []
    for odds, count in groups:
        yes, no = odds / (1 + odds), 1 / (1 + odds)
        choices.append(
            [
                (math.comb(count, j) * yes**j * no ** (count - j), odds ** (2 * j - count))
                for j in range(count + 1)
            ]
        )
    for combination in itertools.product(*choices):
        mass, ratio = Fraction(1), Fraction(1)
        for p, r in combination:
            mass *= p
            ratio *= r
        yield mass, ratio


def truth(case: Case) -> Fraction | arb:
    """Return delta, exactly or as a ball of at least 30 digits."""
    rest = 1 - case.infinite
    if not case.gaussians:
        assert case.growth is not None
        total = sum(
            (p * (1 - case.growth / r) for p, r in total_laws(case.responses) if r > case.growth),
            Fraction(0),
        )
        return case.infinite + rest * total
    bits = 256
    while True:
        value = _with_gaussian(case, bits)
        if value.rel_accuracy_bits() > 100:
            return value
        bits *= 2


def _with_gaussian(case: Case, bits: int) -> arb:
    before = ctx.prec
    ctx.prec = bits
    try:
        square = sum((mu * mu * count for mu, count in case.gaussians), Fraction(0))
        m = arb(fmpq(square.numerator, square.denominator)).sqrt()
        e = _log(case.growth) if case.growth is not None else _exact(case.epsilon)
        total = arb(0)
        for p, r in total_laws(case.responses):
            here = e - _log(r)
            first = ((here / m - m / 2) / arb(2).sqrt()).erfc() / 2
            second = ((here / m + m / 2) / arb(2).sqrt()).erfc() / 2
            total += _exact(p) * (first - here.exp() * second)
        return _exact(case.infinite) + _exact(1 - case.infinite) * total
    finally:
        ctx.prec = before


def _exact(value: Fraction | None) -> arb:
    assert value is not None
    return arb(fmpq(value.numerator, value.denominator))


def _log(value: Fraction) -> arb:
    return _exact(value).log()


def holds(value: Fraction | arb, log_lower: float, log_upper: float) -> bool:
    """Return whether lower <= ln value <= upper, at 400 bits."""
    before = ctx.prec
    ctx.prec = 400
    try:
        if isinstance(value, Fraction):
            if value == 0:
                return log_lower == -math.inf
            log_value = _log(value)
        else:
            log_value = value.log()
        above = log_upper == math.inf or not log_value > arb(log_upper)
        below = log_lower == -math.inf or not log_value < arb(log_lower)
        return bool(above and below)
    finally:
        ctx.prec = before


def cases(seed: int, count: int) -> Iterator[Case]:
    """Yield random compositions: Gaussians, responses, both; with mass at infinity at times."""
    rng = random.Random(seed)
    for _ in range(count):
        kind = rng.choice(["gaussian", "both", "both", "response", "response"])
        gaussians: tuple[tuple[Fraction, int], ...] = ()
        responses: tuple[Group, ...] = ()
        if kind != "response":
            gaussians = tuple(
                (Fraction(rng.randint(1, 60), rng.choice([20, 50, 200])), rng.randint(1, 300))
                for _ in range(rng.randint(1, 3))
            )
        if kind != "gaussian":
            responses = tuple(
                (1 + Fraction(rng.randint(1, 40), rng.choice([20, 60])), rng.randint(1, 9))
                for _ in range(rng.randint(1, 3))
            )
            if kind == "response" and rng.random() < 0.5:
                responses = ((responses[0][0], rng.randint(10, 120)),)
        infinite = Fraction(rng.randint(1, 9), 10 ** rng.randint(3, 40))
        infinite = infinite if rng.random() < 0.3 else Fraction(0)
        square = float(sum((mu * mu * k for mu, k in gaussians), Fraction(0)))
        spread = math.sqrt(square + sum(k * math.log(r) ** 2 for r, k in responses))
        middle = square / 2 + sum(k * math.log(r) * float((r - 1) / (r + 1)) for r, k in responses)
        far = rng.choice([0.0, 1.0, 4.0, 12.0, 36.0])
        epsilon = max(0.0, middle + spread * far * rng.random())
        if kind == "response":
            epsilon = min(epsilon, 0.98 * sum(k * math.log(r) for r, k in responses))
            growth = max(
                Fraction(1), Fraction(math.exp(min(epsilon, 600.0))).limit_denominator(10**6)
            )
            yield Case(gaussians, responses, infinite, growth, None)
        else:
            yield Case(gaussians, responses, infinite, None, Fraction(f"{epsilon:.6g}"))
