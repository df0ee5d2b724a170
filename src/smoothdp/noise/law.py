"""The base class of noise laws: density, distribution, quantiles, moments, calibration."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from typing import ClassVar, Literal, Self, cast

import numpy as np

from smoothdp.claims.guarantees.guarantee import Guarantee
from smoothdp.errors import InvalidParameter
from smoothdp.exact.balls.shown import shown
from smoothdp.exact.parameters.numbers import Parameter, exact_int
from smoothdp.exact.random.lazy import LazyLaw
from smoothdp.noise.abstract_law import AbstractLaw, Values
from smoothdp.noise.calibration import Calibration, calibrate
from smoothdp.types import FloatArray

_HALF_LOG = math.log(0.25)


class NoiseDistribution(AbstractLaw):
    """A symmetric unimodal law on the real line, at unit scale; a mechanism adds
    scale * Z to its answer.

    Functions of ``x`` take a number or an array and return the like. They are floats,
    accurate to a relative 1e-12 wherever the result is a normal float; the logarithms reach
    further. Certified figures (`renyi`, `delta`, `max_divergence`) are computed in balls
    and never below the truth.

    A law names its parameters once (``parameters``), its ``source``, and nine functions of
    the magnitude |x|: five in floats here, four in balls for the divergences. What else it may
    answer, with the defaults, is in `smoothdp.noise.abstract_law`.
    """

    printed_shapes: ClassVar[tuple[float, float] | None] = None
    """The shapes among which the printed theorem about the family is looked at, if one is."""

    @abstractmethod
    def _log_density(self, a: FloatArray) -> FloatArray:
        """Return ln of the density at a >= 0."""

    @abstractmethod
    def _log_survival(self, a: FloatArray) -> FloatArray:
        """Return ln P(Z > a), a >= 0."""

    @abstractmethod
    def _tail_quantile(self, log_tail: FloatArray) -> FloatArray:
        """Return the a >= 0 with ln P(Z > a) = log_tail <= ln(1/4)."""

    @abstractmethod
    def _central_quantile(self, mass: FloatArray) -> FloatArray:
        """Return the a >= 0 with P(0 < Z < a) = mass, 0 <= mass <= 1/4."""

    @abstractmethod
    def _moment(self, k: int) -> float:
        """Return E|Z|^k, k >= 1, or inf."""

    def log_density(self, x: Values) -> Values:
        """Return ln of the density."""
        return apply(lambda v: self._log_density(np.abs(v)), x)

    def density(self, x: Values) -> Values:
        """Return the density; 0 where it is below the smallest float."""
        return apply(lambda v: np.exp(self._log_density(np.abs(v))), x)

    def cdf(self, x: Values) -> Values:
        """Return P(Z <= x)."""
        return apply(lambda v: self._survival_of(-v), x)

    def survival(self, x: Values) -> Values:
        """Return P(Z > x), accurate for large x."""
        return apply(self._survival_of, x)

    def log_cdf(self, x: Values) -> Values:
        """Return ln P(Z <= x)."""
        return apply(lambda v: self._log_survival_of(-v), x)

    def log_survival(self, x: Values) -> Values:
        """Return ln P(Z > x)."""
        return apply(self._log_survival_of, x)

    def quantile(self, p: Values) -> Values:
        """Return the x with P(Z <= x) = p, 0 <= p <= 1.

        Raises:
            InvalidParameter: a p outside [0, 1], or nan.
        """
        return apply(self._quantile, p)

    def tail_quantile(self, log_tail: Values) -> Values:
        """Return the x >= 0 with ln P(Z > x) = log_tail, at any depth.

        Raises:
            InvalidParameter: a log_tail above ln(1/2), or nan.
        """
        return apply(self._deep_quantile, log_tail)

    def moment(self, k: int) -> float:
        """Return the absolute moment E|Z|^k of a whole k >= 0; inf where it is infinite."""
        order = exact_int(k, name="k", minimum=0)
        return self._moment(order) if order else 1.0

    @property
    def variance(self) -> float:
        """E Z^2, the mean being 0; inf where it is infinite."""
        return self.moment(2)

    @property
    def standard_deviation(self) -> float:
        """The root of the variance.

        Raises:
            InvalidParameter: the variance is infinite.
        """
        variance = self.variance
        if variance == math.inf:
            name, value = next(iter(self.values().items()))
            raise InvalidParameter(
                expected=f"a law of finite variance, {name} > {self.finite_moment_above(2)}",
                got=f"{name}={shown(value)}",
                remedy=f"Raise {name}, or describe the noise by its quantiles",
            )
        return math.sqrt(variance)

    def calibrate(
        self,
        guarantee: Guarantee,
        *,
        smoothing: Parameter,
        method: Literal["exact", "paper", "closed_form"] = "exact",
    ) -> Calibration[Self]:
        """Return the largest shift s, and with it the least noise, that meets a guarantee.

        Args:
            guarantee: what releasing f(x) + (S(x) / s) Z must promise.
            smoothing: t > 0; S changes by a factor of at most e^t between neighbours.
            method: "exact" for the tightest analysis, "paper" for the theorem as it is printed,
                "closed_form" for this library's sharper formula of the same kind.

        Raises:
            InvalidParameter: no scale meets the guarantee, or a parameter outside its domain.
        """
        return calibrate(self, guarantee, smoothing=smoothing, method=method)

    def lazy(self) -> LazyLaw:
        """Return the law as it is drawn: exactly, from uniform numbers whose bits come lazily.

        Raises:
            InvalidParameter: a law that has no exact sampler.
        """
        raise InvalidParameter(
            expected="a law that can be drawn exactly",
            got=f"{self!r}",
            remedy="Write its method `lazy`, or take a law that has one, such as those of sd.noise",
        )

    def _survival_of(self, x: FloatArray) -> FloatArray:
        tail = np.where(x == 0, 0.5, np.exp(self._log_survival(np.abs(x))))
        return np.where(x < 0, 1 - tail, tail)

    def _log_survival_of(self, x: FloatArray) -> FloatArray:
        log_tail = np.where(x == 0, math.log(0.5), self._log_survival(np.abs(x)))
        return np.where(x < 0, np.log1p(-np.exp(log_tail)), log_tail)

    def _quantile(self, p: FloatArray) -> FloatArray:
        if not np.all((p >= 0) & (p <= 1)):
            wrong = float(p[~((p >= 0) & (p <= 1))].flat[0])
            raise InvalidParameter(
                expected="0 <= p <= 1", got=f"p={wrong!r}", remedy="Give probabilities"
            )
        # 1 - p and p - 1/2 are exact where they are used.
        small = np.minimum(p, 1 - p)
        tail = np.minimum(small, 0.25)
        with np.errstate(divide="ignore"):
            far = self._tail_quantile(np.log(tail))
        near = self._central_quantile(np.minimum(np.abs(p - 0.5), 0.25))
        return np.sign(p - 0.5) * np.where(small < 0.25, far, near)

    def _deep_quantile(self, log_tail: FloatArray) -> FloatArray:
        if not np.all(log_tail <= math.log(0.5)):
            raise InvalidParameter(
                expected="log_tail <= ln(1/2)",
                got=f"log_tail={float(np.max(log_tail))!r}",
                remedy="Give the logarithm of a tail probability",
            )
        far = self._tail_quantile(np.minimum(log_tail, _HALF_LOG))
        mass = np.clip(-0.5 * np.expm1(log_tail + math.log(2)), 0.0, 0.25)
        return np.where(log_tail <= _HALF_LOG, far, self._central_quantile(mass))


def apply(function: Callable[[FloatArray], FloatArray], x: Values) -> Values:
    """Apply a function of arrays to a number or an array of numbers."""
    try:
        numbers = np.asarray(x, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidParameter(
            expected="numbers", got=f"{x!r}", remedy="Give a float or an array of floats"
        ) from None
    with np.errstate(over="ignore", under="ignore", invalid="ignore", divide="ignore"):
        result = function(np.atleast_1d(numbers))
    return cast("Values", float(result[0]) if numbers.ndim == 0 else result)
