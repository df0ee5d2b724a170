"""Which keys of a table are shown where the keys themselves are private."""

from smoothdp.keys.optimal import OptimalSelection, optimal_probability
from smoothdp.keys.threshold import laplace_threshold, laplace_threshold_delta
from smoothdp.keys.total import total_delta
from smoothdp.keys.truncated_geometric import TruncatedGeometric

__all__ = [
    "OptimalSelection",
    "TruncatedGeometric",
    "laplace_threshold",
    "laplace_threshold_delta",
    "optimal_probability",
    "total_delta",
]
