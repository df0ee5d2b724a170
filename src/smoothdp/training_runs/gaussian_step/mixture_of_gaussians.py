"""A Gaussian sum to which one record adds a random one of several vectors."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

from smoothdp.claims.curves.profile import FunctionProfile, PrivacyProfile
from smoothdp.claims.neighbours import Neighbours, read_neighbours
from smoothdp.composition.laws.grid_pair import grid_pair
from smoothdp.composition.laws.guarantees import gaussian_laws
from smoothdp.composition.laws.later import LaterLaw
from smoothdp.composition.laws.law import LossBracket, LossLaw, LossLaws, known
from smoothdp.errors import IncompatibleClaims, InvalidParameter
from smoothdp.exact.logspace.bounds import LogBounds
from smoothdp.exact.parameters.numbers import (
    Parameter,
    Real,
    exact_fraction,
    exact_int,
    exact_positive,
    exact_probability,
    exact_text,
    positive_probability,
)
from smoothdp.sources import Source
from smoothdp.training_runs.directed import Way, read_way
from smoothdp.training_runs.gaussian_step.mixture_law import MixtureLaw
from smoothdp.training_runs.gaussian_step.mixture_step import (
    Shifts,
    log_with_first,
    log_without_first,
)
from smoothdp.training_runs.subsampled_gaussian import SubsampledGaussian

_MOST = 256
# Of the law for compositions in which items may point either way.
_DEPTH = -60.0
_N_POINTS = 500


@dataclass(frozen=True, init=False)
class MixtureOfGaussians:
    """A sum plus Gaussian noise, to which a record adds a vector of norm at most c_i with
    probability p_i.

    Which i it is depends on chance alone, not on data or earlier outputs, and stays secret. The
    vectors may point in any directions and depend on everything that came before. The laws are
    sum p_i N(c_i, sigma^2) with the record and N(0, sigma^2) without it, which some records
    attain. With m_i = c_i / sigma and R(y) = sum p_i e^(m_i y - m_i^2 / 2), which rises, delta is
    known in closed form but for one root, in each direction; compositions have both ends, too.

    Examples: a record that is used a random number of times in a batch; k records of one person,
    each in the batch with probability q, which together add at most j norms with the binomial
    probability of j: `of_group`.

    Source: proofs/mixtures-of-gaussians#1, #2; Choquette-Choo et al., Privacy Amplification for
    Matrix Mechanisms (2024).

    Args:
        sensitivities: c_1, c_2, ... >= 0, at most 256 different ones; equal ones are joined.
        probabilities: p_1, p_2, ..., as many, which add up to exactly 1: write "1/3" or fractions.
        sigma: standard deviation of the noise, > 0, in the unit of the sensitivities.
        neighbours: "add_remove" (default) or "zero_out".

    Raises:
        InvalidParameter: a parameter outside these domains; no sensitivity above 0.
        IncompatibleClaims: replace_one neighbours.

    >>> step = MixtureOfGaussians([0, 1, 2], ["0.9801", "0.0198", "0.0001"], sigma=2)
    >>> round(step.profile().delta("0.1"), 9)
    8.43e-07
    """

    source: ClassVar[Source] = Source("own", "proofs/mixtures-of-gaussians#1, #2")
    exact_sensitivities: tuple[Fraction, ...]
    exact_probabilities: tuple[Fraction, ...]
    exact_sigma: Fraction
    neighbours: Neighbours

    def __init__(
        self,
        sensitivities: Iterable[Parameter],
        probabilities: Iterable[Parameter],
        *,
        sigma: Parameter,
        neighbours: Neighbours | str = Neighbours.ADD_REMOVE,
    ) -> None:
        about = read_neighbours(neighbours)
        if about is Neighbours.REPLACE_ONE:
            raise IncompatibleClaims(
                expected="neighbours add_remove or zero_out for a mixture of Gaussians",
                got=about.value,
                remedy="Replacing is removing one and adding one: see as_replace_one() of a claim",
            )
        joined = _joined(sensitivities, probabilities)
        object.__setattr__(self, "exact_sensitivities", tuple(joined))
        object.__setattr__(self, "exact_probabilities", tuple(joined.values()))
        object.__setattr__(self, "exact_sigma", exact_positive(sigma, name="sigma"))
        object.__setattr__(self, "neighbours", about)

    @classmethod
    def of_group(
        cls,
        n_records: int,
        *,
        sampling_rate: Parameter,
        sigma: Parameter,
        sensitivity: Parameter = 1,
        neighbours: Neighbours | str = Neighbours.ADD_REMOVE,
    ) -> MixtureOfGaussians:
        """Return one step on a Poisson sample, about all records of a person at once.

        Each of the person's records is in the sample with probability q, by a coin of its own: j of
        k are with the binomial probability of j, and add j norms at most
        (proofs/mixtures-of-gaussians#3).

        Args:
            n_records: k, the most records that a person has, 1 to 255.
            sampling_rate: q in (0, 1].
            sigma: standard deviation of the noise, > 0, in the unit of the sensitivity.
            sensitivity: the largest norm of what one record adds, > 0.
            neighbours: "add_remove" (default) or "zero_out": of whole persons.

        Raises:
            InvalidParameter: a parameter outside these domains.

        >>> step = MixtureOfGaussians.of_group(2, sampling_rate="0.01", sigma=2)
        >>> [str(p) for p in step.exact_probabilities]
        ['9801/10000', '99/5000', '1/10000']
        """
        k = exact_int(n_records, name="n_records", minimum=1)
        if k >= _MOST:
            raise InvalidParameter(
                expected=f"at most {_MOST - 1} records of one person",
                got=f"n_records={n_records}",
                remedy="Cap how many records a person may have",
            )
        remedy = "Give the share of the records that a step samples, such as 0.01"
        q = positive_probability(sampling_rate, name="sampling_rate", remedy=remedy)
        norm = exact_positive(sensitivity, name="sensitivity")
        return cls(
            [j * norm for j in range(k + 1)],
            [math.comb(k, j) * q**j * (1 - q) ** (k - j) for j in range(k + 1)],
            sigma=sigma,
            neighbours=neighbours,
        )

    @property
    def _shifts(self) -> Shifts:
        sizes = tuple(c / self.exact_sigma for c in self.exact_sensitivities)
        return Shifts(sizes, self.exact_probabilities)

    def profile(self) -> PrivacyProfile:
        """Return the privacy profile of one release: the worse of both directions."""
        return FunctionProfile(self._log_delta_bounds, self.neighbours)

    def directed(self, way: Way) -> PrivacyProfile:
        """Return the profile of one direction of one release.

        Args:
            way: "remove": the database with the record first; "add": the other one first.

        Raises:
            InvalidParameter: another way.

        >>> step = MixtureOfGaussians([0, 1, 3], ["1/2", "1/4", "1/4"], sigma=2)
        >>> step.directed("add").delta(1)
        0.0
        """
        part = log_with_first if read_way(way, self.neighbours) == "remove" else log_without_first
        shifts = self._shifts
        return FunctionProfile(lambda epsilon: part(shifts, epsilon), self.neighbours)

    def _log_delta_bounds(self, epsilon: Real) -> LogBounds:
        shifts = self._shifts
        ways = log_with_first(shifts, epsilon), log_without_first(shifts, epsilon)
        return LogBounds(max(each.lower for each in ways), max(each.upper for each in ways))

    def loss_laws(self) -> LossLaws:
        """Return the laws of the privacy loss of one release, for composition."""
        return self._laws

    @cached_property
    def _laws(self) -> LossLaws:
        shifts = self._shifts
        if len(shifts.sizes) == 1:
            return gaussian_laws(shifts.sizes[0] ** 2, self.neighbours)
        if len(shifts.sizes) == 2 and shifts.still:
            return SubsampledGaussian(
                shifts.probabilities[1],
                noise_multiplier=1 / shifts.sizes[1],
                neighbours=self.neighbours,
            ).loss_laws()
        ways = [
            known(MixtureLaw(shifts, "with_record")),
            known(MixtureLaw(shifts, "without_record")),
        ]
        return LossLaws(self.neighbours, self._either_way(), (ways[0], ways[1]))

    def _either_way(self) -> LossBracket:
        """Return laws around that of the larger of both directions; made if they are needed."""

        def bracket() -> LossBracket:
            if not made:
                made.append(grid_pair(self.profile(), log_depth=_DEPTH, n_points=_N_POINTS))
            return made[0]

        def lower() -> LossLaw:
            law = bracket().lower
            assert isinstance(law, LossLaw)
            return law

        def upper() -> LossLaw:
            law = bracket().upper
            assert isinstance(law, LossLaw)
            return law

        made: list[LossBracket] = []
        return LossBracket(LaterLaw(upper), LaterLaw(lower))

    def describe(self) -> str:
        """Return the release in words."""
        parts = ", ".join(
            f"{exact_text(c)} with probability {exact_text(p)}"
            for c, p in itertools.islice(
                zip(self.exact_sensitivities, self.exact_probabilities, strict=True), 4
            )
        )
        more = ", ..." if len(self.exact_sensitivities) > 4 else ""
        return f"shifts {parts}{more}, noise {exact_text(self.exact_sigma)}"


def _joined(
    sensitivities: Iterable[Parameter], probabilities: Iterable[Parameter]
) -> dict[Fraction, Fraction]:
    """Return probabilities above 0 by sensitivity, in its order."""
    sizes = [exact_fraction(c, name="a sensitivity") for c in _listed(sensitivities)]
    shares = [exact_probability(p, name="a probability") for p in _listed(probabilities)]
    if len(sizes) != len(shares):
        raise InvalidParameter(
            expected="as many probabilities as sensitivities",
            got=f"{len(sizes)} sensitivities and {len(shares)} probabilities",
            remedy="Give one probability for each sensitivity",
        )
    if any(c < 0 for c in sizes):
        raise InvalidParameter(
            expected="sensitivities >= 0, which are norms",
            got=exact_text(min(sizes)),
            remedy="Give the largest norm of what the record adds",
        )
    if sum(shares) != 1:
        raise InvalidParameter(
            expected="probabilities that add up to exactly 1",
            got=f"a sum of {exact_text(sum(shares, Fraction(0)))}",
            remedy='Give fractions such as "1/3", and to sensitivity 0 the probability that the '
            "record is not used",
        )
    joined: dict[Fraction, Fraction] = {}
    for c, p in sorted(zip(sizes, shares, strict=True)):
        if p:
            joined[c] = joined.get(c, Fraction(0)) + p
    if max(joined) == 0:
        raise InvalidParameter(
            expected="a sensitivity above 0 with a probability above 0",
            got="a record that is never used",
            remedy="Leave the release out: it costs nothing",
        )
    if len(joined) > _MOST:
        raise InvalidParameter(
            expected=f"at most {_MOST} different sensitivities",
            got=f"{len(joined)}",
            remedy="Round sensitivities up: each stands for all that are not larger",
        )
    return joined


def _listed(values: Iterable[Parameter]) -> list[Parameter]:
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        raise InvalidParameter(
            expected="a list of numbers",
            got=f"{values!r}",
            remedy="Write [0, 1, 2]",
        )
    return list(values)
