"""The mechanism that answers a request, whatever the kind of its statistic."""

from __future__ import annotations

from typing import Any, Protocol

from smoothdp.claims.guarantees.guarantee import Guarantee
from smoothdp.claims.neighbours import Neighbours
from smoothdp.claims.release import Release
from smoothdp.exact.random.entropy import Entropy
from smoothdp.mechanisms.fixed.skewed_noise import SkewedNoise
from smoothdp.mechanisms.fixed.sum_noise import SumNoise
from smoothdp.mechanisms.private_size.bought_size import DEFAULT_SHARE, BoughtSize
from smoothdp.mechanisms.private_size.rules import needs_guess
from smoothdp.mechanisms.quantiles.chosen import several, takes_half_shift
from smoothdp.mechanisms.quantiles.half_shift.half_shift import HalfShift
from smoothdp.mechanisms.release.by_ranks import by_ranks, draws_by_ranks
from smoothdp.mechanisms.release.request import ReleaseRequest
from smoothdp.mechanisms.release.smooth_mechanism import smooth_mechanism
from smoothdp.queries import Quantiles, SkewedMean
from smoothdp.queries.fixed.fixed_statistic import Sums
from smoothdp.queries.statistic import Statistic


class Releasable(Protocol):
    """A mechanism for one column: its guarantee is known before it is run."""

    @property
    def guarantee(self) -> Guarantee:
        """What is promised."""

    def describe(self) -> str:
        """Return the mechanism and its public parameters in words."""

    def read(self, data: object) -> object:
        """Return the data as `release` takes them, checked."""

    def release(self, data: object, *, rng: Entropy | None = None) -> Release[Any]:
        """Return the statistic with noise."""


def mechanism_of(request: ReleaseRequest, *, n_records: int | None = None) -> Releasable:
    """Return the mechanism for a request.

    Args:
        request: what is asked for. n_records: n where it is public.
    """
    if isinstance(request.query, Quantiles):
        return several(request, n_records=n_records, single=mechanism_of)
    if n_records is not None and takes_half_shift(request):
        return HalfShift.of_request(request, n_records=n_records)
    if isinstance(request.query, Sums):
        return SumNoise.of_request(request)
    if isinstance(request.query, SkewedMean):
        return SkewedNoise.of_request(request)
    if needs_guess(request):
        return BoughtSize(request, request.n_share or DEFAULT_SHARE)
    # A rule on public facts: n where it is public, else what is guessed of it.
    size = request.n_guess if request.has_private_size else n_records
    if draws_by_ranks(request, size):
        return by_ranks(request)
    return smooth_mechanism(request, n_records=n_records)


def prepared(request: ReleaseRequest, data: object) -> tuple[Releasable, object]:
    """Return the mechanism for data, and the data read; n is used where it is public alone."""
    query = request.query
    is_public = request.guarantee.neighbours is not Neighbours.ADD_REMOVE
    if isinstance(query, Quantiles) and is_public:
        column = query.read(data)
        return mechanism_of(request, n_records=len(column)), column
    if isinstance(query, Statistic) and not request.has_private_size:
        values = query.read(data)
        return mechanism_of(request, n_records=query.size(values)), values
    mechanism = mechanism_of(request)
    return mechanism, mechanism.read(data)
