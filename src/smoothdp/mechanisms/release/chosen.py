"""The mechanism that answers a request, whatever the kind of its statistic."""

from __future__ import annotations

from typing import Protocol

from smoothdp.claims.guarantees.guarantee import Guarantee
from smoothdp.claims.release import Release
from smoothdp.exact.random.entropy import Entropy
from smoothdp.mechanisms.release.request import ReleaseRequest
from smoothdp.mechanisms.release.smooth_noise import SmoothNoise


class Releasable(Protocol):
    """A mechanism for one column: its guarantee is known before it is run."""

    @property
    def guarantee(self) -> Guarantee:
        """What is promised."""

    def describe(self) -> str:
        """Return the mechanism and its public parameters in words."""

    def release(self, data: object, *, rng: Entropy | None = None) -> Release[float | int]:
        """Return the statistic with noise."""


def mechanism_of(request: ReleaseRequest, *, n_records: int | None = None) -> Releasable:
    """Return the mechanism for a request.

    Args:
        request: what is asked for. n_records: n where it is public.
    """
    return SmoothNoise.of_request(request, n_records=n_records)
