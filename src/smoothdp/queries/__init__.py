"""Statistics with their local and smooth sensitivity.

All but `Custom` are means of a window of order statistics: `query.py` holds their base class,
`windows/` the order statistics of a column, and `sensitivity/` the sensitivities.
"""

from smoothdp.queries.custom import Custom
from smoothdp.queries.extremes import Maximum, Minimum
from smoothdp.queries.means import Mean, TrimmedMean, WindowMean
from smoothdp.queries.median import Median
from smoothdp.queries.quantile import Quantile
from smoothdp.queries.query import Query
from smoothdp.queries.sensitivity.curve import SensitivityCurve, SensitivitySummary
from smoothdp.queries.windows.column_summary import ColumnSummary

__all__ = [
    "ColumnSummary",
    "Custom",
    "Maximum",
    "Mean",
    "Median",
    "Minimum",
    "Quantile",
    "Query",
    "SensitivityCurve",
    "SensitivitySummary",
    "TrimmedMean",
    "WindowMean",
]

STATISTICS: tuple[type[Query], ...] = tuple(
    kind for name in __all__ if issubclass(kind := globals()[name], Query) and kind is not Query
)
"""The statistics among these names that are means of windows: plan files know them by name."""
