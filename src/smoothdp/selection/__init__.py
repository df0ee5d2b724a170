"""The best of a random number of runs, and what it costs."""

from smoothdp.selection.best_of import BestOf
from smoothdp.selection.counts import (
    FixedCount,
    NegativeBinomialCount,
    PoissonCount,
    RunCount,
)

__all__ = ["BestOf", "FixedCount", "NegativeBinomialCount", "PoissonCount", "RunCount"]
