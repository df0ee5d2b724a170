"""The facts about a law, in ball arithmetic, that certified divergences need.

A law is seen through g(v) = ln f(e^v), v = ln|x|, and its elasticity A = -dg/dv. Every law
here is symmetric and unimodal, and ln|Z| has a log-concave density, so that A is >= 0 and
nondecreasing: bounds over intervals come from their ends. What rests on it, and that every law of
the library has it: (proofs/dilated-divergences#8).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from fractions import Fraction
from typing import ClassVar

from smoothdp.exact.balls import special
from smoothdp.exact.balls.special import Ball


class BallLaw(ABC):
    """The hooks of a law for certified numbers; ``v`` and ``x`` are balls.

    ``_ball_work`` is what one evaluation costs, in the units of `smoothdp.exact.balls.work`.
    """

    _ball_work: ClassVar[int] = 8

    @abstractmethod
    def _ball_log_density(self, v: Ball) -> Ball:
        """Return ln f(e^v) for a thin real ball."""

    @abstractmethod
    def _ball_log_peak(self) -> Ball:
        """Return ln f(0)."""

    @abstractmethod
    def _ball_elasticity(self, v: Ball) -> Ball:
        """Return A = -d ln f(e^v) / dv for real and complex balls.

        nan where A cannot be continued analytically.
        """

    @abstractmethod
    def _ball_survival(self, x: Ball) -> Ball:
        """Return P(Z > x), x > 0."""

    def _ball_branch(self, v: Ball) -> Callable[[Ball], Ball]:
        """Return the analytic function that the elasticity is near v."""
        del v
        return self._ball_elasticity

    def _elasticity_size(self, branch: Callable[[Ball], Ball], v: Ball) -> Ball:
        """Return a bound of |A| over a complex ball, A continued from a branch."""
        return special.size(branch(v))

    def _continuation_error(self, v: Ball) -> Ball:
        """Return a bound of the error of continuing ln f by real elasticities over a ball."""
        del v
        return special.number(0.0)

    def _elasticity_limit(self) -> Ball | None:
        """Return the limit of A at infinity (the power of the tail), None if it is infinite."""
        return None

    def _elasticity_slope(self, v: Ball) -> Ball:
        """Return a bound of dA/dv on [v, inf); needed where A has no limit."""
        del v
        return special.undefined()

    def _kinks(self) -> tuple[Fraction, ...]:
        """Return the x > 0 where the density changes its formula."""
        return ()

    def _renyi_closed(self, order: Ball, shift: Ball, dilation: Ball) -> Ball | None:
        """Return the forward Renyi divergence in closed form, if there is one; shift >= 0."""
        del order, shift, dilation
        return None

    def _supremum_closed(self, shift: Ball, dilation: Ball) -> Ball | None:
        """Return the supremum of the forward loss in closed form, if there is one."""
        del shift, dilation
        return None

    def _delta_closed(self, epsilon: Ball, shift: Ball, dilation: Ball) -> Ball | None:
        """Return the forward hockey-stick divergence in closed form, if there is one."""
        del epsilon, shift, dilation
        return None
