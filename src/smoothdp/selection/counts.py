"""How many times a mechanism runs: the laws of the number of runs of a private selection."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, NamedTuple

import numpy as np

from smoothdp.errors import InvalidParameter
from smoothdp.exact.balls.balls import ball, enclose, log_bounds, precision, round_up
from smoothdp.exact.balls.special import Ball
from smoothdp.exact.logspace.bounds import LOG_ONE, UNIT_ROUNDOFF, LogBounds
from smoothdp.exact.parameters.numbers import (
    Parameter,
    exact_fraction,
    exact_int,
    exact_positive,
    exact_text,
    proper_probability,
)
from smoothdp.exact.random.entropy import Entropy, SystemRandom
from smoothdp.exact.random.walked import walked
from smoothdp.sources import Source
from smoothdp.types import FloatArray

_BITS = 192
# Of ln of the weight, in units of u: two parameters rounded, three operations, log1p by 8.
_ROUNDINGS = 32 * UNIT_ROUNDOFF


class Logs(NamedTuple):
    """Logarithms, and absolute bounds of their errors."""

    values: FloatArray
    error: FloatArray


class RunCount(ABC):
    """The law of the number K of runs, known by f(s) = E[s^K].

    What a selection costs depends on f'(s) / f'(1): how much likelier the best run is found
    where a share s of all runs is worse (proofs/repeat-and-select#1).
    """

    @property
    @abstractmethod
    def mean(self) -> float:
        """E[K] = f'(1), about."""

    @property
    @abstractmethod
    def log_mean(self) -> LogBounds:
        """Bounds of ln E[K]."""

    @property
    def log_some(self) -> LogBounds:
        """Bounds of ln P(K >= 1)."""
        return LOG_ONE

    @property
    @abstractmethod
    def steepness(self) -> float:
        """About -d/dw of ln f'(1 - w) at w = 0."""

    @abstractmethod
    def log_weights(self, worse: FloatArray) -> Logs:
        """Return ln of f'(1 - w) / f'(1) at floats -1e-10 <= w <= 1, known to 8 u of themselves."""

    def pure_epsilon(self, epsilon: float) -> float:
        """Return a float not below the pure epsilon of the best run, if each has this one.

        >>> round(PoissonCount(10).pure_epsilon(1.0), 6)
        5.621172
        """
        with precision(_BITS):
            one = ball(Fraction(epsilon))
            return round_up(one + self._gain(one))

    @abstractmethod
    def _gain(self, epsilon: Ball) -> Ball:
        """Return the largest ln f'(u) / f'(v) where one run is pure DP (#2)."""

    @abstractmethod
    def log_bends(self, worse: FloatArray) -> FloatArray:
        """Return ln of f'''(1 - w) / f'(1), to 1e-12 of its size; -inf where it is 0."""

    @abstractmethod
    def describe(self) -> str:
        """Return the law in words."""

    @abstractmethod
    def _masses(self) -> Iterator[tuple[int, Ball]]:
        """Yield k and a ball around P(K = k), at the present precision, from the least k on."""

    def draw(self, *, rng: Entropy | None = None) -> int:
        """Return a number of runs, with exactly this law.

        It must not become known, nor may anything that shows it, such as the time of all runs
        (proofs/repeat-and-select#6, #7).

        Args:
            rng: bits of the operating system (default); seeded ones in tests only.
        """
        return walked(self._masses, SystemRandom() if rng is None else rng)


@dataclass(frozen=True, init=False)
class PoissonCount(RunCount):
    """A Poisson number of runs: f(s) = e^(m (s - 1)). With probability e^-m nothing runs.

    Source: Papernot, Steinke 2022 (the law); proofs/repeat-and-select#2.

    Args:
        mean: m > 0.

    Raises:
        InvalidParameter: a mean outside [1e-6, 1e9].

    >>> from smoothdp.exact.random.entropy import SeededRandom
    >>> count = PoissonCount(10)
    >>> [count.draw(rng=SeededRandom(seed)) for seed in range(4)]
    [9, 10, 13, 11]
    """

    source: ClassVar[Source] = Source("papernot-steinke", "a Poisson number of repetitions")
    exact_mean: Fraction

    def __init__(self, mean: Parameter) -> None:
        object.__setattr__(self, "exact_mean", _mean(mean))

    @property
    def mean(self) -> float:
        return float(self.exact_mean)

    @property
    def log_mean(self) -> LogBounds:
        return log_bounds(self.exact_mean)

    @property
    def log_some(self) -> LogBounds:
        with precision(_BITS):
            return enclose((-(-ball(self.exact_mean)).expm1()).log())

    @property
    def steepness(self) -> float:
        return self.mean

    def log_weights(self, worse: FloatArray) -> Logs:
        values = -self.mean * worse
        return Logs(values, _ROUNDINGS * np.abs(values))

    def log_bends(self, worse: FloatArray) -> FloatArray:
        return 2 * math.log(self.mean) - self.mean * worse

    def _gain(self, epsilon: Ball) -> Ball:
        return ball(self.exact_mean) * (epsilon / 2).tanh()

    def describe(self) -> str:
        """Return the law in words."""
        return f"a Poisson number of runs of mean {exact_text(self.exact_mean)}"

    def _masses(self) -> Iterator[tuple[int, Ball]]:
        mean = ball(self.exact_mean)
        k, mass = 0, (-mean).exp()
        while True:
            yield k, mass
            k += 1
            mass = mass * mean / k


@dataclass(frozen=True, init=False)
class NegativeBinomialCount(RunCount):
    """At least one run: the negative binomial law without 0, of a shape and a stopping rate.

    P(K = k) is in proportion to (1 - g)^k (h)(h + 1)...(h + k - 1) / k!, h the shape and g the
    stopping rate; f'(s) to (1 - (1 - g) s)^-(h + 1). Shape 1 is the geometric law: stop after each
    run with probability g. Shape 0 is the logarithmic law.

    Source: Liu, Talwar 2019; Papernot, Steinke 2022 (the law); proofs/repeat-and-select#2.

    Args:
        shape: h in (-1, 1e6].
        stop: g in (0, 1), at least 1e-9.

    Raises:
        InvalidParameter: parameters outside these domains.

    >>> round(NegativeBinomialCount(1, stop="0.1").mean, 9)
    10.0
    >>> round(NegativeBinomialCount(0, stop="0.1").mean, 3)
    3.909
    """

    source: ClassVar[Source] = Source("papernot-steinke", "truncated negative binomial law")
    exact_shape: Fraction
    exact_stop: Fraction

    def __init__(self, shape: Parameter, *, stop: Parameter) -> None:
        found = exact_fraction(shape, name="shape")
        if not -1 < found <= 10**6:
            raise InvalidParameter(
                expected="-1 < shape <= 1e6",
                got=f"shape={shape}",
                remedy="Give 1 for the geometric law, 0 for the logarithmic one",
            )
        rate = proper_probability(
            stop, name="stop", remedy="Give the probability to stop after a run, such as 0.1"
        )
        if rate < Fraction(1, 10**9):
            raise InvalidParameter(
                expected="stop of at least 1e-9", got=f"stop={stop}", remedy="Raise stop"
            )
        object.__setattr__(self, "exact_shape", found)
        object.__setattr__(self, "exact_stop", rate)

    @property
    def mean(self) -> float:
        return math.exp(self.log_mean.upper)

    @property
    def log_mean(self) -> LogBounds:
        # E[K] = P(K = 1) / g^(h + 1), as f'(0) = P(K = 1).
        with precision(_BITS):
            power = ball(self.exact_shape + 1) * ball(self.exact_stop).log()
            return enclose(self._first().log() - power)

    @property
    def steepness(self) -> float:
        return float((self.exact_shape + 1) * (1 - self.exact_stop) / self.exact_stop)

    def log_weights(self, worse: FloatArray) -> Logs:
        ratio = float((1 - self.exact_stop) / self.exact_stop)
        values = -float(self.exact_shape + 1) * np.log1p(ratio * worse)
        return Logs(values, _ROUNDINGS * np.abs(values))

    def log_bends(self, worse: FloatArray) -> FloatArray:
        ratio = float((1 - self.exact_stop) / self.exact_stop)
        shape = float(self.exact_shape)
        logs = -(shape + 3) * np.log1p(ratio * worse)
        return logs + (math.log(shape + 1) + math.log(shape + 2) + 2 * math.log(ratio))

    def _gain(self, epsilon: Ball) -> Ball:
        stop, growth = ball(self.exact_stop), epsilon.exp()
        return ball(self.exact_shape + 1) * ((growth + stop) / (1 + stop * growth)).log()

    def describe(self) -> str:
        """Return the law in words."""
        stop = exact_text(self.exact_stop)
        if self.exact_shape == 1:
            return f"a geometric number of runs, stopping after each with probability {stop}"
        if self.exact_shape == 0:
            return f"a logarithmic number of runs of stopping rate {stop}"
        shape = exact_text(self.exact_shape)
        return f"a negative binomial number of runs of shape {shape} and stopping rate {stop}"

    def _first(self) -> Ball:
        """Return P(K = 1) = h (1 - g) / (g^-h - 1), or its limit at h = 0."""
        shape, log_stop = self.exact_shape, ball(self.exact_stop).log()
        rest = ball(1 - self.exact_stop)
        if shape == 0:
            return rest / -log_stop
        return rest * ball(shape) / (-ball(shape) * log_stop).expm1()

    def _masses(self) -> Iterator[tuple[int, Ball]]:
        shape, rest = ball(self.exact_shape), ball(1 - self.exact_stop)
        k, mass = 1, self._first()
        while True:
            yield k, mass
            mass = mass * rest * (shape + k) / (k + 1)
            k += 1


@dataclass(frozen=True, init=False)
class FixedCount(RunCount):
    """So many runs, always: f(s) = s^k. Far more expensive than a random number of them.

    Source: proofs/repeat-and-select#2.

    Args:
        runs: k >= 1, at most 1e9.

    Raises:
        InvalidParameter: another number.

    >>> FixedCount(5).draw()
    5
    """

    source: ClassVar[Source] = Source("own", "proofs/repeat-and-select#2")
    runs: int

    def __init__(self, runs: int) -> None:
        found = exact_int(runs, name="runs", minimum=1)
        _mean(found)
        object.__setattr__(self, "runs", found)

    @property
    def mean(self) -> float:
        return float(self.runs)

    @property
    def log_mean(self) -> LogBounds:
        return log_bounds(Fraction(self.runs))

    @property
    def steepness(self) -> float:
        return float(self.runs - 1)

    def log_weights(self, worse: FloatArray) -> Logs:
        if self.runs == 1:
            return Logs(np.zeros_like(worse), np.zeros_like(worse))
        with np.errstate(divide="ignore", invalid="ignore"):
            values = (self.runs - 1) * np.log1p(-worse)
            # 1 - w inherits the error of w, which weighs the more the closer w is to 1.
            inherited = (self.runs - 1) * worse / (1 - worse)
            error = _ROUNDINGS * (np.abs(values) + inherited)
        return Logs(values, np.where(worse < 1, error, 0.0))

    def log_bends(self, worse: FloatArray) -> FloatArray:
        factor = (self.runs - 1) * (self.runs - 2)
        if factor == 0:
            return np.full_like(worse, -math.inf)
        if self.runs == 3:
            return np.full_like(worse, math.log(factor))
        with np.errstate(divide="ignore"):
            return math.log(factor) + (self.runs - 3) * np.log1p(-np.minimum(worse, 1.0))

    def _gain(self, epsilon: Ball) -> Ball:
        return (self.runs - 1) * epsilon

    def describe(self) -> str:
        """Return the law in words."""
        return f"exactly {self.runs} {'run' if self.runs == 1 else 'runs'}"

    def _masses(self) -> Iterator[tuple[int, Ball]]:
        yield self.runs, ball(1)


def _mean(mean: Parameter) -> Fraction:
    found = exact_positive(mean, name="mean")
    if not Fraction(1, 10**6) <= found <= 10**9:
        raise InvalidParameter(
            expected="between 1e-6 and 1e9 runs on average",
            got=f"{exact_text(found)}",
            remedy="Change the number of runs",
        )
    return found
