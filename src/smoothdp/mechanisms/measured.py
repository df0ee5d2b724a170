"""What can be asked of a mechanism at one database: delta, its bounds and its logarithm."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Generic, TypeVar

from smoothdp.exact.parameters.numbers import Parameter
from smoothdp.privacy.profile import PrivacyProfile

Counts_contra = TypeVar("Counts_contra", contravariant=True)


class Measured(ABC, Generic[Counts_contra]):
    """A mechanism whose delta depends on the database; shorthand for questions about it."""

    @abstractmethod
    def at(self, counts: Counts_contra) -> PrivacyProfile:
        """Return the privacy profile delta_epsilon(x) at a database with these counts."""

    def delta(self, counts: Counts_contra, *, epsilon: Parameter) -> float:
        """Return delta_epsilon(x), never below the truth (see `at`)."""
        return self.at(counts).delta(epsilon)

    def delta_bounds(self, counts: Counts_contra, *, epsilon: Parameter) -> tuple[float, float]:
        """Return floats (lower, upper) around delta_epsilon(x) (see `at`)."""
        return self.at(counts).delta_bounds(epsilon)

    def log_delta(self, counts: Counts_contra, *, epsilon: Parameter) -> float:
        """Return ln delta_epsilon(x), never below the truth (see `at`)."""
        return self.at(counts).log_delta(epsilon)
