"""What a release needs of one database: the statistic and its smooth sensitivity, exactly."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from smoothdp.exact.logspace.bounds import LogBounds
from smoothdp.exact.logspace.log_sums import largest
from smoothdp.queries.decays import Candidate, decayed_upper, log_decayed
from smoothdp.sources import Source


@dataclass(frozen=True, slots=True)
class SensitivitySummary:
    """A statistic and its smooth sensitivity at one database, as exact numbers.

    The smooth sensitivity is S = max of e^(-k t) d over ``candidates`` (k, d). The largest is
    decided exactly (no two with different k are equal), so that there is one candidate.
    As private as the data: for use inside a release, or on public data.

    Source: paper 2, Definition 14.

    Attributes:
        n_records: n. value: f(x), exactly. smoothing: t.
        candidates: (k, d) with S = max e^(-k t) d: k the distance, d the local sensitivity there.

    >>> summary = SensitivitySummary(5, Fraction(4), Fraction(1), ((0, Fraction(2)),))
    >>> summary.smooth_sensitivity()
    2.0
    """

    source: ClassVar[Source] = Source("bun-steinke-averages", "Definition 14")
    n_records: int
    value: Fraction
    smoothing: Fraction
    candidates: tuple[Candidate, ...]

    def smooth_sensitivity(self) -> float:
        """Return S as a float, never below it; 5e-324 at least."""
        return max(decayed_upper(candidate, self.smoothing) for candidate in self.candidates)

    def log_smooth_sensitivity(self) -> float:
        """Return ln S as a float, never below it."""
        return self.log_bounds().upper

    def log_bounds(self) -> LogBounds:
        """Return floats around ln S."""
        return largest([log_decayed(candidate, self.smoothing) for candidate in self.candidates])
