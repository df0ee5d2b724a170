"""What every privacy claim has in common."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from smoothdp.exact.balls.balls import log_bounds
from smoothdp.exact.balls.shown import Rounding, shown
from smoothdp.exact.logspace.bounds import SMALLEST_FLOAT, LogBounds
from smoothdp.exact.parameters.numbers import LogRatio, Parameter, Real
from smoothdp.privacy.neighbours import Neighbours
from smoothdp.privacy.profile import FunctionProfile, PrivacyProfile
from smoothdp.sources import Source


@dataclass(frozen=True, init=False, repr=False)
class Guarantee(ABC):
    """A privacy claim: a frozen value that knows its neighbours.

    Parameters are kept exactly; the float properties are never below them.
    """

    source: ClassVar[Source]
    is_average: ClassVar[bool] = False
    """Whether the promise is one on average over a model of the data."""
    rounded_down: ClassVar[frozenset[str]] = frozenset()
    """Parameters that are shown rounded down, because less of them is the weaker claim."""
    neighbours: Neighbours

    @abstractmethod
    def log_delta_bounds(self, epsilon: Real) -> LogBounds:
        """Bound ln of the largest delta(epsilon) of any mechanism that meets the claim."""

    @abstractmethod
    def parameters(self) -> dict[str, Real]:
        """Return the exact parameters by name."""

    @abstractmethod
    def words(self) -> str:
        """Return what is promised, as the middle of a sentence."""

    def profile(self) -> PrivacyProfile:
        """Return the tightest proved privacy profile that follows from the claim."""
        return FunctionProfile(self.log_delta_bounds, self.neighbours)

    def implies(self, other: Guarantee) -> bool:
        """Return True if every mechanism that meets this claim is proved to meet the other.

        False means: not proved. Claims about different neighbours raise
        IncompatibleClaims; they meet only through an explicit conversion.
        """
        from smoothdp.privacy.implication import implies

        return implies(self, other)

    def sentence(
        self,
        *,
        rows_per_person: int = 1,
        n_records: int | None = None,
        delta_at_zero: Parameter | None = None,
    ) -> str:
        """Return the claim in plain English, about one row or about one person's rows.

        It says how strong the claim is, in numbers, and where that is weak (the thresholds:
        `smoothdp.privacy.strength`). With rows_per_person = k > 1 the claim is widened by group
        privacy.

        Args:
            rows_per_person: k >= 1. n_records: n, where it is known: then a delta of 1/n or more
                is called weak.
            delta_at_zero: delta(0) of what was published, or a bound of it, where more is known
                than the claim: how often a guess is right is said from it. Not with
                rows_per_person.
        """
        from smoothdp.privacy.conversions import group_privacy
        from smoothdp.privacy.strength import strength_words

        claim = self if rows_per_person == 1 else group_privacy(self, n_records=rows_per_person)
        unit = "one row" if rows_per_person == 1 else f"one person's {rows_per_person} rows"
        change = self.neighbours.sentence(unit)
        known = None if rows_per_person > 1 else delta_at_zero
        strength = strength_words(claim, unit=unit, n_records=n_records, delta_at_zero=known)
        return f"How much the output tells about {unit}: {change} {claim.words()} {strength}"

    def to_json(self) -> str:
        """Return the claim as JSON; `guarantee_from_json` reads it back exactly."""
        from smoothdp.privacy.codec import to_json

        return to_json(self)

    def __repr__(self) -> str:
        given = ", ".join(
            f"{name}={shown(value, rounding=self._safe(name))}"
            for name, value in self.parameters().items()
        )
        return f"{type(self).__name__}({given}, neighbours={self.neighbours.value!r})"

    def _safe(self, name: str) -> Rounding:
        return "down" if name in self.rounded_down else "up"


def float_up(value: Real) -> float:
    """Return a float not below an exact number, and equal to a float that was given."""
    if isinstance(value, LogRatio):
        return log_bounds(value.ratio).upper
    nearest = float(value)
    if Fraction(repr(nearest)) == value or Fraction(nearest) >= value:
        return max(nearest, SMALLEST_FLOAT) if value > 0 else nearest
    return math.nextafter(nearest, math.inf)
