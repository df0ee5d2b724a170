"""Concentrated differential privacy, and its truncated form."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from smoothdp.claims.domains import read_amount
from smoothdp.claims.excess import log_distance_bound, log_gaussian_excess, log_order_bound
from smoothdp.claims.guarantees.guarantee import Guarantee
from smoothdp.claims.neighbours import Neighbours, read_neighbours
from smoothdp.claims.terms import RhoTerms
from smoothdp.errors import InvalidParameter
from smoothdp.exact.balls.compare import float_up
from smoothdp.exact.logspace.bounds import LOG_ZERO, LogBounds
from smoothdp.exact.parameters.numbers import Parameter, Real, exact_fraction
from smoothdp.sources import Source
from smoothdp.text import number_down, number_up

# Below this, a float of rho has no relative accuracy.
_TINY = Fraction(1, 10**300)


@dataclass(frozen=True, init=False, repr=False)
class ZCDP(Guarantee):
    """rho-zero-concentrated differential privacy: D_a <= a rho for every order a > 1.

    Its profile is the least over orders of exp((a-1)(a rho - e)) (1 - 1/a)^a / (a - 1)
    (Canonne, Kamath, Steinke 2020), and never above the bounds of total variation that
    follow from D_1 <= rho. The lower side of its bounds is the Gaussian mechanism with the
    same rho, which meets the claim; the worst mechanism lies between.

    Args:
        rho: >= 0.
        neighbours: "replace_one" (default), "add_remove" or "zero_out".

    Raises:
        InvalidParameter: a parameter outside these domains.

    >>> 0.0 < ZCDP(0.5).profile().delta(4) < 0.02
    True
    """

    source: ClassVar[Source] = Source("bun-steinke-zcdp", "Definition 1.1")
    parameter_names: ClassVar[tuple[str, ...]] = ("rho",)
    exact_rho: Fraction

    def __init__(
        self, rho: Parameter, *, neighbours: Neighbours | str = Neighbours.REPLACE_ONE
    ) -> None:
        object.__setattr__(self, "exact_rho", read_amount(rho, name="rho"))
        object.__setattr__(self, "neighbours", read_neighbours(neighbours))

    @property
    def rho(self) -> float:
        """Rho as a float, not below the exact one."""
        return float_up(self.exact_rho)

    def log_delta_bounds(self, epsilon: Real) -> LogBounds:
        return _concentrated_bounds(self.exact_rho, None, epsilon)

    def terms(self) -> RhoTerms:
        return RhoTerms(self.exact_rho)

    def pure_epsilon(self) -> Real | None:
        return None if self.exact_rho else Fraction(0)

    def concentrated_rho(self) -> Fraction:
        return self.exact_rho

    def follows_from(self, other: Guarantee) -> bool:
        rho = other.concentrated_rho()
        return rho is not None and rho <= self.exact_rho

    def _for_group(self, k: int) -> ZCDP:
        return self.changed(rho=k * k * self.exact_rho)

    def words(self) -> str:
        return (
            "changes the output's law by at most order x "
            f"{number_up(self.rho)} in Renyi divergence of every order (rho-zCDP); at "
            "delta = 1e-6 this is epsilon = "
            f"{number_up(self.profile().epsilon('1e-6'))}."
        )


@dataclass(frozen=True, init=False, repr=False)
class TruncatedCDP(Guarantee):
    """(rho, omega)-truncated concentrated DP: D_a <= a rho for orders 1 < a < omega.

    Its profile is that of `ZCDP` with orders up to omega (Bun, Dwork, Rothblum, Steinke).

    Args:
        rho: >= 0.
        omega: > 1.
        neighbours: "replace_one" (default), "add_remove" or "zero_out".

    Raises:
        InvalidParameter: a parameter outside these domains.

    >>> TruncatedCDP(0.5, omega=3).profile().delta(6) > ZCDP(0.5).profile().delta(6)
    True
    """

    source: ClassVar[Source] = Source("bun-steinke-averages", "Definition 32")
    parameter_names: ClassVar[tuple[str, ...]] = ("rho", "omega")
    rounded_down: ClassVar[frozenset[str]] = frozenset({"omega"})
    no_group: ClassVar[str] = "Orders shrink at each step: convert it to an approximate claim first"
    exact_rho: Fraction
    exact_omega: Fraction

    def __init__(
        self,
        rho: Parameter,
        *,
        omega: Parameter,
        neighbours: Neighbours | str = Neighbours.REPLACE_ONE,
    ) -> None:
        order = exact_fraction(omega, name="omega")
        if order <= 1:
            raise InvalidParameter(expected="omega > 1", got=f"omega={omega}", remedy="Raise omega")
        object.__setattr__(self, "exact_rho", read_amount(rho, name="rho"))
        object.__setattr__(self, "exact_omega", order)
        object.__setattr__(self, "neighbours", read_neighbours(neighbours))

    @property
    def rho(self) -> float:
        """Rho as a float, not below the exact one."""
        return float_up(self.exact_rho)

    @property
    def omega(self) -> float:
        """Omega as the nearest float."""
        return float(self.exact_omega)

    def log_delta_bounds(self, epsilon: Real) -> LogBounds:
        return _concentrated_bounds(self.exact_rho, self.exact_omega, epsilon)

    def terms(self) -> RhoTerms:
        return RhoTerms(self.exact_rho, self.exact_omega)

    def pure_epsilon(self) -> Real | None:
        return None if self.exact_rho else Fraction(0)

    def follows_from(self, other: Guarantee) -> bool:
        rho = other.rho_below(self.exact_omega)
        return rho is not None and rho <= self.exact_rho

    def words(self) -> str:
        return (
            f"changes the output's law by at most order x {number_up(self.rho)} in Renyi "
            f"divergence of orders below {number_down(self.exact_omega)} (truncated CDP); at "
            f"delta = 1e-6 this is epsilon = {number_up(self.profile().epsilon('1e-6'))}."
        )


def _concentrated_bounds(rho: Fraction, omega: Fraction | None, epsilon: Real) -> LogBounds:
    if rho == 0:
        return LOG_ZERO
    # Any order gives a valid bound, so the order is found in floats and the bound in balls.
    order = _best_order(float(rho), float(epsilon))
    if omega is not None and order > omega:
        order = omega
    upper = min(log_order_bound(rho, order, epsilon).upper, log_distance_bound(rho).upper, 0.0)
    # A slightly smaller mu keeps the Gaussian mechanism inside the claim.
    root = math.sqrt(2 * float(rho)) if rho > _TINY else 0.0
    mu = Fraction(root * (1 - 1e-15))
    lower = log_gaussian_excess(mu, epsilon).lower if mu > 0 else -math.inf
    return LogBounds(lower, upper)


def _best_order(rho: float, epsilon: float) -> Fraction:
    """Return about the root of 2 a rho - rho - epsilon + ln(1 - 1/a), in ln(a - 1)."""
    ratio = min(1e300, (epsilon + rho + 1.0) / max(rho, 1e-300))
    low, high = -60.0, max(1.0, math.log(1.0 + ratio)) + 1.0
    for _ in range(80):
        middle = 0.5 * (low + high)
        excess = math.exp(middle)
        slope = 2 * excess * rho + rho - epsilon - math.log1p(1 / excess)
        low, high = (middle, high) if slope < 0 else (low, middle)
    return 1 + Fraction(math.exp(low))
