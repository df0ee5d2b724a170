"""Several quantiles under pure DP, drawn together, as a release."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from smoothdp.claims.curves.profile import PrivacyProfile
from smoothdp.claims.guarantees.guarantee import Guarantee
from smoothdp.claims.guarantees.standard import PureDP
from smoothdp.claims.neighbours import Neighbours
from smoothdp.claims.release import library_version
from smoothdp.claims.terms import EpsilonTerms
from smoothdp.errors import InvalidParameter, OutOfReach
from smoothdp.exact.parameters.numbers import float_of
from smoothdp.exact.random.entropy import Entropy, read_rng
from smoothdp.mechanisms.quantiles.joint.joint_rule import PureMechanism, pure_mechanism
from smoothdp.mechanisms.quantiles.quantiles_release import QuantilesRelease
from smoothdp.mechanisms.release.request import ReleaseRequest
from smoothdp.queries import Quantiles
from smoothdp.sources import Source


@dataclass(frozen=True, slots=True)
class JointQuantiles:
    """Quantiles by joint noise or by the joint exponential mechanism, for a guarantee.

    Source: proofs/joint-quantiles#1, #7.

    Attributes:
        promise: what is promised: epsilon-DP, or what follows from it.
        mechanism: what draws the values, with that epsilon.

    >>> import smoothdp as sd
    >>> query = sd.queries.Quantiles([0.25, 0.5, 0.75], bounds=(0, 100))
    >>> released = sd.release(
    ...     [i % 91 for i in range(2001)], query, guarantee=sd.PureDP(2), rng=sd.SeededRandom(1)
    ... )
    >>> [abs(a - b) < 4 for a, b in zip(released.value, (22, 45, 68))]
    [True, True, True]

    Raises:
        InvalidParameter: a promise that does not follow from what the mechanism keeps.
    """

    source: ClassVar[Source] = Source("own", "proofs/joint-quantiles#1")
    promise: Guarantee
    mechanism: PureMechanism

    def __post_init__(self) -> None:
        if not self.mechanism.guarantee.implies(self.promise):
            raise InvalidParameter(
                expected=f"a promise that follows from {self.mechanism.guarantee!r}",
                got=repr(self.promise),
                remedy="Make the mechanism for the promise",
            )

    @classmethod
    def of_request(cls, request: ReleaseRequest, *, n_records: int) -> JointQuantiles | None:
        """Return the mechanism for a request; None where it asks for what this has not.

        That is decided by public facts: intervals, a law or a smoothing of the caller's, other
        promises than pure and approximate DP about replacing a record, one level alone, or more
        records and levels than are within reach.
        """
        query, guarantee, terms = request.query, request.guarantee, request.guarantee.terms()
        is_open = request.noise is None and request.smoothing is None and request.coverage is None
        if not isinstance(query, Quantiles) or len(query) < 2 or not is_open:
            return None
        if guarantee.neighbours is not Neighbours.REPLACE_ONE:
            return None
        if not isinstance(terms, EpsilonTerms) or float_of(terms.epsilon) <= 0:
            return None
        pure = PureDP(terms.epsilon, neighbours=guarantee.neighbours)
        try:
            made = pure_mechanism(query.levels, query.bounds, n_records, pure, request.step)
        except OutOfReach:
            return None
        return cls(guarantee, made)

    @property
    def guarantee(self) -> Guarantee:
        """What is promised of all values together."""
        return self.promise

    def profile(self) -> PrivacyProfile:
        """Return the privacy profile of one release."""
        return self.mechanism.profile()

    def describe(self) -> str:
        """Return the mechanism and its public parameters in words."""
        return self.mechanism.describe()

    def read(self, data: object) -> object:
        """Return the numbers of the column."""
        return self.mechanism.read(data)

    def release(self, data: object, *, rng: Entropy | None = None) -> QuantilesRelease:
        """Return the values with noise, in increasing order.

        Args:
            data: one column. rng: `SystemRandom()` (default), or `SeededRandom`, marked not
                private.
        """
        source = read_rng(rng)
        return QuantilesRelease(
            self.mechanism.release(data, rng=source),
            self.guarantee,
            self.describe(),
            source.is_private,
            library_version(),
            (self.source,),
            self.mechanism.levels,
        )
