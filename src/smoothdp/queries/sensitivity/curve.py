"""Value and smooth sensitivity at one database, exactly: for one t, and for all t at once.

ln S(t) = max over k of ln LS_k - k t: for all t the upper hull of (k, ln LS_k). Only the
distances on the hull ever matter, a few to a few hundred. Each is found by asking for the exact
maximiser at the crossing of two that are known, which is 2 h + 1 questions for h of them; LS_k
for all k is never computed.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from smoothdp.exact.logspace.bounds import LogBounds
from smoothdp.exact.logspace.log_sums import largest as largest_bounds
from smoothdp.exact.parameters.numbers import Parameter
from smoothdp.queries.read_arguments import read_smoothing
from smoothdp.queries.sensitivity.candidates import Candidate, decayed_upper, largest, log_decayed
from smoothdp.sources import Source

# Two distances whose sensitivities agree to this many bits cross too close to 0 to ask there.
_LEAST_CROSSING = Fraction(1, 10**299)


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
        """Return S as a float, rounded up; 5e-324 at least."""
        return max(decayed_upper(candidate, self.smoothing) for candidate in self.candidates)

    def log_smooth_sensitivity(self) -> float:
        """Return ln S as a float, rounded up."""
        return self.log_bounds().upper

    def log_bounds(self) -> LogBounds:
        """Return floats around ln S."""
        return largest_bounds(
            [log_decayed(candidate, self.smoothing) for candidate in self.candidates]
        )


@dataclass(frozen=True, slots=True)
class SensitivityCurve:
    """Smooth sensitivities at one database for every smoothing.

    As private as the data: for public data and studies. Choosing t by it on private data is a
    leak.

    A distance that is missing lies above the hull by no more than the rounding of a crossing:
    ln S is never more than 1e-12 above what the curve says, and never below.

    Source: paper 2, Definition 14; proofs/windows-around-the-rank#4.

    Attributes:
        n_records: n. value: f(x), exactly. vertices: (k, LS_k) on the hull, k rising.

    >>> from smoothdp.queries import Median
    >>> curve = Median((0, 10)).sensitivity_curve([1, 2, 4, 5, 9])
    >>> curve.smooth_sensitivity(smoothing=1), curve.at(1).value
    (2.0, Fraction(4, 1))
    """

    source: ClassVar[Source] = Source("bun-steinke-averages", "Definition 14")
    n_records: int
    value: Fraction
    vertices: tuple[Candidate, ...]

    def at(self, smoothing: Parameter) -> SensitivitySummary:
        """Return the summary for one smoothing t > 0."""
        rate = read_smoothing(smoothing)
        return SensitivitySummary(self.n_records, self.value, rate, (largest(self.vertices, rate),))

    def smooth_sensitivity(self, *, smoothing: Parameter) -> float:
        """Return S(t), rounded up."""
        return self.at(smoothing).smooth_sensitivity()

    def log_smooth_sensitivity(self, *, smoothing: Parameter) -> float:
        """Return ln S(t), rounded up."""
        return self.at(smoothing).log_smooth_sensitivity()


def hull(
    nearest: Candidate, furthest: Candidate, maximiser: Callable[[Fraction, int], Candidate]
) -> tuple[Candidate, ...]:
    """Return the vertices from one distance to another, by exact maximisers at given rates.

    The maximiser is told a distance that it cannot exceed at that rate: that of a vertex which
    is the maximiser at a smaller one.
    ``nearest`` is the least distance with a positive sensitivity, ``furthest`` the least with
    the largest.
    """
    vertices = [nearest]
    pending = [furthest]
    while pending:
        near, far = vertices[-1], pending[-1]
        middle = None
        if far[0] > near[0] + 1:
            crossing = _crossing(near, far)
            middle = maximiser(crossing, far[0]) if crossing >= _LEAST_CROSSING else None
        if middle is not None and near[0] < middle[0] < far[0]:
            pending.append(middle)
        else:
            vertices.append(pending.pop())
    return tuple(dict.fromkeys(vertices))


def _crossing(near: Candidate, far: Candidate) -> Fraction:
    """Return the rate at which two candidates are equal, to 50 bits."""
    ratio = far[1] / near[1]
    log = math.log1p(float(ratio - 1)) if ratio < 2 else _log(ratio)
    return Fraction(log) / (far[0] - near[0])


def _log(ratio: Fraction) -> float:
    return math.log(ratio.numerator) - math.log(ratio.denominator)
