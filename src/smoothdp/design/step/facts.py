"""What is known of one step of training: the fields of its result."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from smoothdp.claims.model.model import DataModel
from smoothdp.exact.parameters.numbers import Real


@dataclass(frozen=True)
class StepFacts:
    """The fields of a `SgdStepDelta`; see there."""

    model: DataModel
    n_records: int
    batch: int
    epsilon: Real
    log_lower: float
    log_delta: float
    log_ordinary: float
    decided_by: str

    @property
    def rarest(self) -> Fraction:
        """The least probability of a level under any law of the model, q_min."""
        return min(p for vertex in self.model.vertices for p in vertex)

    @property
    def crossover(self) -> float:
        """About how many records it takes, with this batch, before the bound leaves T/n.

        The solution of n = ln(n/T) / q_min, about; inf where a level may have no record.
        """
        if self.rarest == 0:
            return math.inf
        rate, n = float(self.rarest), float(self.batch) + 1.0 / float(self.rarest)
        for _ in range(60):
            n = max(math.e * self.batch, math.log(max(math.e, n / self.batch)) / rate)
        return n
