"""Gaussian differential privacy."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from smoothdp.claims.domains import read_amount
from smoothdp.claims.excess import log_gaussian_excess, pure_of_mu
from smoothdp.claims.guarantees.guarantee import Guarantee
from smoothdp.claims.guarantees.standard import PureDP
from smoothdp.claims.neighbours import Neighbours, read_neighbours
from smoothdp.claims.terms import MuTerms
from smoothdp.exact.balls.compare import float_up
from smoothdp.exact.logspace.bounds import LOG_ZERO, LogBounds
from smoothdp.exact.parameters.numbers import Parameter, Real
from smoothdp.sources import Source
from smoothdp.text import number_up


@dataclass(frozen=True, init=False, repr=False)
class GaussianDP(Guarantee):
    """mu-Gaussian DP: as hard to attack as telling N(0, 1) from N(mu, 1).

    Its profile is Phi(mu/2 - e/mu) - e^e Phi(-mu/2 - e/mu) (Balle, Wang 2018; Corollary
    2.5 of paper 5), computed in balls at any depth.

    Args:
        mu: >= 0.
        neighbours: "replace_one" (default), "add_remove" or "zero_out".

    Raises:
        InvalidParameter: a parameter outside these domains.

    >>> round(GaussianDP(1).profile().delta(1), 6)
    0.126937
    """

    source: ClassVar[Source] = Source("dong-roth-su", "Definition 2.6")
    parameter_names: ClassVar[tuple[str, ...]] = ("mu",)
    exact_mu: Fraction

    def __init__(
        self, mu: Parameter, *, neighbours: Neighbours | str = Neighbours.REPLACE_ONE
    ) -> None:
        object.__setattr__(self, "exact_mu", read_amount(mu, name="mu"))
        object.__setattr__(self, "neighbours", read_neighbours(neighbours))

    @property
    def mu(self) -> float:
        """Mu as a float, not below the exact one."""
        return float_up(self.exact_mu)

    def log_delta_bounds(self, epsilon: Real) -> LogBounds:
        if self.exact_mu == 0:
            return LOG_ZERO
        return log_gaussian_excess(self.exact_mu, epsilon)

    def terms(self) -> MuTerms:
        return MuTerms(self.exact_mu)

    def pure_epsilon(self) -> Real | None:
        return None if self.exact_mu else Fraction(0)

    def concentrated_rho(self) -> Fraction:
        """Return mu^2 / 2: the Renyi divergence of N(0, 1) and N(mu, 1) is a mu^2 / 2."""
        return self.exact_mu**2 / 2

    def gaussian_mu(self) -> Fraction:
        return self.exact_mu

    def is_gaussian(self, mu: Fraction) -> bool:
        return self.exact_mu <= mu

    def follows_from(self, other: Guarantee) -> bool:
        return other.is_gaussian(self.exact_mu)

    def sufficient_pure(self) -> PureDP:
        """Return the weakest pure claim that implies this one, epsilon rounded down.

        epsilon = ln(Phi(mu / 2) / Phi(-mu / 2)): what calibrates a law that has a pure claim.

        Source: proofs/gaussian-dp#1.

        >>> GaussianDP(1).sufficient_pure().implies(GaussianDP(1))
        True
        """
        epsilon = pure_of_mu(self.exact_mu) if self.exact_mu else Fraction(0)
        return PureDP(epsilon, neighbours=self.neighbours)

    def _for_group(self, k: int) -> GaussianDP:
        return self.changed(mu=k * self.exact_mu)

    def words(self) -> str:
        return (
            "is at least as hard to notice as a shift of a standard normal variable by "
            f"{number_up(self.mu)} (mu-Gaussian DP)."
        )
