"""The Gaussian mechanism on a random sample of the records: one step of model training."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Literal

from smoothdp.claims.curves.profile import FunctionProfile, PrivacyProfile
from smoothdp.claims.neighbours import Neighbours, read_neighbours
from smoothdp.composition.laws.guarantees import gaussian_laws
from smoothdp.composition.laws.law import LossLaws, known
from smoothdp.errors import IncompatibleClaims, InvalidParameter
from smoothdp.exact.logspace.bounds import LogBounds
from smoothdp.exact.parameters.numbers import (
    Parameter,
    Real,
    exact_positive,
    positive_probability,
)
from smoothdp.sources import Source
from smoothdp.training_runs.directed import Way, read_way
from smoothdp.training_runs.gaussian_step.one_step import log_base_excess, log_mixture_excess
from smoothdp.training_runs.gaussian_step.subsampled_law import SubsampledGaussianLaw

Subsampling = Literal["poisson", "without_replacement"]
_RELATIONS = {
    "poisson": (Neighbours.ADD_REMOVE, Neighbours.ZERO_OUT),
    "without_replacement": (Neighbours.REPLACE_ONE,),
}


@dataclass(frozen=True, init=False)
class SubsampledGaussian:
    """The sum of clipped vectors of a random sample of the records, plus Gaussian noise.

    "poisson": each record is in the sample independently with probability q; neighbours add or
    remove one record, whose vector has norm at most the clipping bound, or put 0 in the place of
    one record's vector ("zero_out"). The two directions
    are the mixture (1 - q) N(0, s^2) + q N(1, s^2) against N(0, s^2), and the reverse. At every
    e >= 0 the first is the worse: with E = e^e, d = (E - 1)(1 - q) and r = E - 1 + q they are
    the integrals of (q N1 - r N0)_+ and, mirrored, of (q N1 - r N0 - d (N1 - N0))_+, and where the
    second integrand is positive N1 > N0.

    "without_replacement": a sample of exactly q n of n records; neighbours replace one record,
    and the noise multiplier is relative to the l2-sensitivity under replacement: twice the
    clipping bound. For e >= 0 delta(e) = q delta_Gauss(ln(1 + (e^e - 1) / q)) in both
    directions (Balle, Barthe, Gaboardi 2018, Theorem 9).

    Source: Balle, Barthe, Gaboardi, Privacy Amplification by Subsampling (2018).

    Args:
        sampling_rate: q in (0, 1].
        noise_multiplier: standard deviation of the noise over the sensitivity, > 0.
        sampling: "poisson" (default) or "without_replacement".
        neighbours: None (default) is "add_remove" for Poisson samples, which may be "zero_out" as
            well, and "replace_one" without replacement.

    Raises:
        InvalidParameter: a parameter outside these domains.

    >>> step = SubsampledGaussian("0.01", noise_multiplier=1)
    >>> round(step.profile().delta("0.1"), 6)
    7.3e-05
    """

    source: ClassVar[Source] = Source("balle-barthe-gaboardi", "Theorems 8 and 9")
    exact_rate: Fraction
    exact_noise: Fraction
    sampling: Subsampling
    _neighbours: Neighbours

    def __init__(
        self,
        sampling_rate: Parameter,
        *,
        noise_multiplier: Parameter,
        sampling: Subsampling = "poisson",
        neighbours: Neighbours | str | None = None,
    ) -> None:
        remedy = "Give the share of the records that a step samples, such as 0.01"
        rate = positive_probability(sampling_rate, name="sampling_rate", remedy=remedy)
        if sampling not in ("poisson", "without_replacement"):
            raise InvalidParameter(
                expected='sampling "poisson" or "without_replacement"',
                got=f"sampling={sampling!r}",
                remedy='Use "poisson" if each record has its own coin, else "without_replacement"',
            )
        object.__setattr__(self, "exact_rate", rate)
        object.__setattr__(
            self, "exact_noise", exact_positive(noise_multiplier, name="noise_multiplier")
        )
        object.__setattr__(self, "sampling", sampling)
        allowed = _RELATIONS[sampling]
        about = allowed[0] if neighbours is None else read_neighbours(neighbours)
        if about not in allowed:
            raise IncompatibleClaims(
                expected=f"neighbours {' or '.join(each.value for each in allowed)} for "
                f"sampling={sampling!r}",
                got=f"neighbours={about.value!r}",
                remedy="Leave neighbours out; smoothdp.Subsampled bounds other cases",
            )
        object.__setattr__(self, "_neighbours", about)

    @property
    def neighbours(self) -> Neighbours:
        """add_remove or zero_out for Poisson sampling, replace_one without replacement."""
        return self._neighbours

    def profile(self) -> PrivacyProfile:
        """Return the privacy profile of one step: the worse of both directions."""
        return FunctionProfile(self._log_delta_bounds, self.neighbours)

    def directed(self, way: Way) -> PrivacyProfile:
        """Return the profile of one direction of one step.

        Args:
            way: "remove": the database with the record first; "add": the other one first.

        Raises:
            InvalidParameter: another way.
            IncompatibleClaims: without replacement, where neither database has a record more.

        >>> step = SubsampledGaussian("0.01", noise_multiplier=1)
        >>> step.directed("remove").delta("0.1") == step.profile().delta("0.1")
        True
        >>> step.directed("add").delta("0.1")
        0.0
        """
        read_way(way, self.neighbours)
        if way == "remove":
            return self.profile()
        return FunctionProfile(self._log_reverse_bounds, self.neighbours)

    def _log_reverse_bounds(self, epsilon: Real) -> LogBounds:
        return log_base_excess(self.exact_rate, 1 / self.exact_noise, epsilon)

    def _log_delta_bounds(self, epsilon: Real) -> LogBounds:
        return log_mixture_excess(self.exact_rate, 1 / self.exact_noise, epsilon)

    def loss_laws(self) -> LossLaws:
        """Return the laws of the privacy loss of one step, for composition."""
        rate, mu = self.exact_rate, 1 / self.exact_noise
        if rate == 1:
            return gaussian_laws(mu * mu, self.neighbours)
        symmetric = known(SubsampledGaussianLaw(rate, mu, "symmetric"))
        if self.sampling == "without_replacement":
            return LossLaws(self.neighbours, symmetric)
        views = [known(SubsampledGaussianLaw(rate, mu, view)) for view in ("mixture", "base")]
        return LossLaws(self.neighbours, symmetric, (views[0], views[1]))
