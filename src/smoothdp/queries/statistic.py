"""The methods of a statistic that a release calls, whoever proved its sensitivity."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from smoothdp.claims.neighbours import Neighbours
from smoothdp.claims.sealed import Sealed
from smoothdp.queries.read_arguments import Bounds
from smoothdp.sources import Source


@dataclass(frozen=True, slots=True, eq=False)
class PrivateSummary:
    """A statistic and its smooth sensitivity at one private database.

    Attributes:
        n_records: n where it is public, else None.
        value: f(x), exactly; sealed.
        sensitivity: (d, u) with S = d e^-u, d > 0, exactly; sealed.

    >>> from smoothdp.queries import Median
    >>> Median((0, 10)).private_summary([1, 5, 9], smoothing=1)
    PrivateSummary(n_records=3, value=Sealed(private), sensitivity=Sealed(private))
    """

    n_records: int | None
    value: Sealed[Fraction]
    sensitivity: Sealed[tuple[Fraction, Fraction]]


class Statistic(ABC):
    """A function of private data whose value lies in [a, b], with a smooth sensitivity.

    `Query` is the family whose sensitivities are exact here, `Custom` any other function.

    Attributes:
        bounds: (a, b), a < b.
    """

    source: ClassVar[Source]
    bounds: Bounds

    @abstractmethod
    def relation(self) -> Neighbours:
        """Return which databases its sensitivities are about."""

    @abstractmethod
    def record(self) -> str:
        """Return by what two neighbours differ, such as "one record"."""

    @abstractmethod
    def describe(self) -> str:
        """Return the statistic in words."""

    @abstractmethod
    def read(self, data: object) -> object:
        """Return the data as the other methods take them, checked; asks for no sensitivity."""

    @abstractmethod
    def size(self, data: object) -> int | None:
        """Return n of the data that `read` returned where n is public, else None."""

    @abstractmethod
    def check_size(self, n_records: int | None) -> None:
        """Raise InvalidData unless there is a value for n records."""

    @abstractmethod
    def fixed_sensitivity(self, n_records: int | None) -> Fraction | None:
        """Return the sensitivity if all data have the same sensitivity, else None."""

    @abstractmethod
    def log_least_sensitivity(self, smoothing: Fraction, n_records: int | None) -> float | None:
        """Return ln of a number that S exceeds at all data, or is; None where none is known."""

    @abstractmethod
    def private_summary(self, data: object, *, smoothing: Fraction) -> PrivateSummary:
        """Return value and sensitivity at private data: sealed, for a sampler."""
