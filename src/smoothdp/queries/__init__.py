"""Statistics with their local and smooth sensitivity.

Most are means of a window of order statistics: `query.py` holds their base class, `windows/` the
order statistics of a column, and `sensitivity/` the sensitivities. `fixed/` holds those that are
functions of sums, which a record moves by a fixed amount; `many/` several quantiles at once;
`Custom` is any other.
"""

from smoothdp.queries.custom import Custom
from smoothdp.queries.extremes import Maximum, Minimum
from smoothdp.queries.fixed.clamped_mean import ClampedMean
from smoothdp.queries.fixed.count import Count
from smoothdp.queries.fixed.fixed_statistic import FixedStatistic
from smoothdp.queries.fixed.skewed_mean import SkewedMean
from smoothdp.queries.fixed.total import Sum
from smoothdp.queries.fixed.variance import Variance
from smoothdp.queries.many.quantiles import Quantiles
from smoothdp.queries.means import Mean, TrimmedMean, WindowMean
from smoothdp.queries.median import Median
from smoothdp.queries.quantile import Quantile
from smoothdp.queries.query import Query
from smoothdp.queries.sensitivity.curve import SensitivityCurve, SensitivitySummary
from smoothdp.queries.windows.column_summary import ColumnSummary

__all__ = [
    "ClampedMean",
    "ColumnSummary",
    "Count",
    "Custom",
    "FixedStatistic",
    "Maximum",
    "Mean",
    "Median",
    "Minimum",
    "Quantile",
    "Quantiles",
    "Query",
    "SensitivityCurve",
    "SensitivitySummary",
    "SkewedMean",
    "Sum",
    "TrimmedMean",
    "Variance",
    "WindowMean",
]

STATISTICS: tuple[type[Query], ...] = tuple(
    kind for name in __all__ if issubclass(kind := globals()[name], Query) and kind is not Query
)
"""The statistics among these names that are means of windows: plan files know them by name."""
