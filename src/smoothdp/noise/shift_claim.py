"""What a theorem says about the largest shift at which a noise law keeps a promise."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from smoothdp.sources import Source

LABELS = ("proved", "certified", "numerical")
"""Strongest first: a proof, a computation in balls, and a computation in plain floats."""


@dataclass(frozen=True, slots=True)
class ShiftClaim:
    """The largest shift s: noise (S / s) Z meets the guarantee wherever S is smooth.

    Attributes:
        exact_shift: a shift that meets it; every smaller one does.
        upper: a shift that no exact analysis can exceed (refuted, or an upper bound that
            is proved), None if nothing is known.
        label: "proved", "certified" or "numerical": how ``exact_shift`` is known.
        source: where the argument comes from.
        reason: the theorem or the route, in a few words.
    """

    exact_shift: Fraction
    upper: Fraction | None
    label: str
    source: Source
    reason: str

    @property
    def relative_gap(self) -> float:
        """(upper - s) / s, rounded up; inf if there is no upper value."""
        if self.upper is None:
            return float("inf")
        gap = (self.upper - self.exact_shift) / self.exact_shift
        return max(0.0, float(gap) * (1 + 1e-15))
