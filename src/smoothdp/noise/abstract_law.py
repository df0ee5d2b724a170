"""A noise law as calibration sees it: divergences, and the facts that the file of a law answers.

A law is symmetric and unimodal, and its elasticity -d ln f / d ln|x| does not fall (`BallLaw`):
the proofs of calibration rest on these facts (proofs/dilated-divergences#4). A method that begins
with an underscore is a hook: the file of the law answers it, calibration asks it, and nothing else
in the house asks a law what it is.

A law must answer: ``source``, ``parameters`` (with one attribute ``exact_<name>`` for each), and

* in balls, for certified numbers (`BallLaw`): `_ball_log_density`, `_ball_log_peak`,
  `_ball_elasticity`, `_ball_survival`;
* in floats (`NoiseDistribution`): `_log_density`, `_log_survival`, `_tail_quantile`,
  `_central_quantile`, `_moment`.

Every other hook has a safe default: an absent answer costs noise, time or a refusal in plain
words, never privacy.

* `_growth`: nothing is proved. Zero-concentrated DP is refused; the others do without.
* `_elasticity_limit`, `_elasticity_slope` (`BallLaw`): no power tail, so that pure DP is refused
  under a smoothing above 0; a tail without a limit needs the slope, and one like exp(-c |x|^k),
  which has none, closed forms of its divergences.
* `_pure_claim`, `_undilated_claim`: no closed form; the shift is certified in balls.
* `_printed_claim`, `_closed_form_claim`: no paper is about the law, so that only
  ``method="exact"`` calibrates it.
* `_reverse_convexity`: no theorem; the certificate covers all dilations instead of two.
* `_fast_log_density`: `log_density` itself.
* `_shape_rule`, `_shape_range`: the best shape is searched for in all of its reach.
* `finite_moment_above`: every moment is finite.
* `_shipped_targets`: no calibration is shipped with the library.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar, TypeVar

from smoothdp.claims.guarantees.guarantee import Guarantee
from smoothdp.claims.guarantees.standard import ApproxDP, PureDP
from smoothdp.exact.balls.balls import ball, precision, round_up
from smoothdp.exact.balls.shown import shown
from smoothdp.exact.balls.special import Ball
from smoothdp.exact.parameters.numbers import LogRatio, Real
from smoothdp.noise.divergences.divergences import Divergences
from smoothdp.noise.shift_claim import ShiftClaim, not_in_the_papers
from smoothdp.noise.specification import ParameterSpec
from smoothdp.sources import Source
from smoothdp.types import FloatArray

Values = TypeVar("Values", float, FloatArray)

SHIPPED_EPSILONS = tuple(Fraction(text) for text in ("1/10", "1/5", "1/2", "1", "2"))
"""For which the library ships calibrations of the laws of its defaults."""

_BITS = 128
_LARGEST_POWER = 1000.0


@dataclass(frozen=True, slots=True)
class Growth:
    """Proved bounds of how fast -ln f of a law can rise with the shift and the scale.

    What follows from each: (proofs/dilated-divergences#7).

    With phi = -ln f, rising in |x|, and the elasticity A(v) = d phi(e^v) / dv, rising in v:

    * shift: c = sup phi', so phi(|x| + s) - phi(|x|) <= c s;
    * scale: phi(e^t |x|) - phi(|x|) is at most t sup A where A is bounded (power laws). For the
      laws made from a normal Y it is quadratic: see `calibration.concentrated.promise`.

    At most one of ``power``, ``sigma`` and ``exponent`` is given.

    Attributes:
        score: a rational not below c = sup phi', None where phi' is unbounded or not known.
        power: sup A - 1 for laws that fall like a power, else None.
        sigma: the shape of a law made from a normal Y, else None.
        folded: whether its dilation moves |Y|, not ln|Z|, by at most t / sigma.
        exponent: k for tails like exp(-c |x|^k), else None.
    """

    score: Fraction | None = None
    power: Fraction | None = None
    sigma: Fraction | None = None
    folded: bool = False
    exponent: int | None = None

    def highest_order(self, smoothing: Fraction) -> float:
        """Return the order from which on a dilation alone has infinite divergence; inf if none.

        1 / (1 - e^(-k t)) for a tail like exp(-c |x|^k), rounded down.
        """
        if smoothing == 0 or self.exponent is None:
            return math.inf
        with precision(_BITS):
            return -round_up(1 / (-self.exponent * ball(smoothing)).expm1())


class AbstractLaw(Divergences):
    """A symmetric unimodal law at unit scale, as calibration sees it."""

    source: ClassVar[Source]
    parameters: ClassVar[tuple[ParameterSpec, ...]] = ()

    @abstractmethod
    def log_density(self, x: Values) -> Values:
        """Return ln of the density."""

    @property
    @abstractmethod
    def variance(self) -> float:
        """E Z^2; inf where it is infinite."""

    def values(self) -> dict[str, Fraction]:
        """Return the exact parameters by name."""
        return {spec.name: getattr(self, f"exact_{spec.name}") for spec in self.parameters}

    def __reduce__(self) -> tuple[type[AbstractLaw], tuple[Fraction, ...]]:
        return type(self), tuple(self.values().values())

    def __repr__(self) -> str:
        parameters = ", ".join(f"{name}={shown(value)}" for name, value in self.values().items())
        return f"{type(self).__name__}({parameters})"

    @classmethod
    def finite_moment_above(cls, k: int) -> int:
        """Return the parameter above which the k-th moment is finite (0: always)."""
        del k
        return 0

    def growth(self) -> Growth:
        """Return proved bounds of how fast -ln f rises.

        >>> from smoothdp.noise import Laplace
        >>> Laplace().growth().score
        Fraction(1, 1)
        """
        return _growth_of(self)

    def _growth(self) -> Growth:
        """Answer `growth`, at the present precision of balls."""
        return Growth()

    def _pure_claim(self, epsilon: Real, smoothing: Fraction) -> ShiftClaim | None:
        """Return the exact shift in pure DP where it has a closed form or a proof of its own.

        Raises:
            InvalidParameter: no shift is epsilon-DP.
        """
        del epsilon, smoothing
        return None

    def _undilated_claim(self, guarantee: Guarantee) -> ShiftClaim | None:
        """Return the exact shift at smoothing 0 where it has a closed form; not in pure DP."""
        del guarantee
        return None

    def _printed_claim(self, guarantee: Guarantee, smoothing: Fraction) -> ShiftClaim:
        """Return the shift of the theorem about the law as it is printed, rounded down.

        Raises:
            InvalidParameter: no theorem about the pair, one that is false, or no positive shift.
        """
        del smoothing
        raise not_in_the_papers(self, guarantee, "none: the law is in no paper")

    def _closed_form_claim(self, guarantee: Guarantee, smoothing: Fraction) -> ShiftClaim:
        """Return the shift of the theorem as it should read, never below the printed one.

        Raises:
            InvalidParameter: as `_printed_claim`.
        """
        return self._printed_claim(guarantee, smoothing)

    def _reverse_convexity(self, shift: Fraction) -> str | None:
        """Return the theorem by which D(e^t Z + s || Z) is convex in t at every order, or None.

        Theorem B (proofs/zcdp-certificates#3): two dilations instead of a cover of all.
        """
        del shift
        return None

    def _fast_log_density(self, x: FloatArray) -> FloatArray:
        """Return about ln of the density at x > 0, quickly. Nothing relies on it."""
        return self.log_density(x)

    @classmethod
    def _shape_rule(cls, guarantee: Guarantee, smoothing: Fraction) -> Fraction | None:
        """Return about the shape of least noise, smoothing > 0, where there is a formula."""
        del guarantee, smoothing
        return None

    @classmethod
    def _shape_range(cls, guarantee: Guarantee, smoothing: Fraction) -> tuple[float, float]:
        """Return shapes between which that of least noise lies, if there is one."""
        lowest, highest = (float(Fraction(edge)) for edge in cls.parameters[0].reach)
        if not cls.finite_moment_above(2):
            return lowest, highest
        lowest = cls.finite_moment_above(2) * 1.0001
        if isinstance(guarantee, PureDP | ApproxDP) and smoothing > 0:
            highest = min(highest, max(lowest, float(epsilon_over(guarantee, smoothing)) + 1))
        return lowest, min(highest, _LARGEST_POWER)

    @classmethod
    def _shipped_targets(cls) -> Iterable[tuple[Guarantee, Fraction]]:
        """Return guarantees and smoothings for which the library ships a calibration."""
        return ()


@lru_cache(maxsize=1024)
def _growth_of(law: AbstractLaw) -> Growth:
    with precision(_BITS):
        return law._growth()


def epsilon_over(guarantee: PureDP | ApproxDP, smoothing: Fraction) -> Fraction:
    """Return epsilon / t, rounded down if epsilon is a logarithm; t > 0."""
    epsilon = guarantee.exact_epsilon
    if isinstance(epsilon, LogRatio):
        epsilon = Fraction(math.nextafter(float(epsilon) * (1 - 1e-15), 0.0))
    return epsilon / smoothing


def rational_above(value: Ball) -> Fraction:
    """Return a rational not below a ball."""
    return Fraction(round_up(value))
