"""What a release needs of one database, sealed: only samplers read it."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from smoothdp.claims.sealed import Sealed


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
