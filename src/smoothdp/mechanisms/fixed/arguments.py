"""Arguments that statistics of a fixed sensitivity do not take, refused in words."""

from __future__ import annotations

from smoothdp.errors import InvalidParameter
from smoothdp.mechanisms.release.request import ReleaseRequest
from smoothdp.queries.fixed.clamped_mean import ClampedMean
from smoothdp.queries.fixed.fixed_statistic import FixedStatistic


def check_arguments(request: ReleaseRequest, statistic: FixedStatistic) -> None:
    """Raise InvalidParameter for a law, a smoothing, a guess of n, or another coverage."""
    given = {
        "noise": request.noise,
        "smoothing": request.smoothing,
        "n_guess": request.n_guess,
    }
    why = {
        "noise": "whose noise is discrete Laplace or discrete Gaussian",
        "smoothing": "which no smooth sensitivity decides",
        "n_guess": "which needs no number of records",
    }
    for name, value in given.items():
        if value is not None:
            raise InvalidParameter(
                expected=f"no {name} for the {statistic.describe()}, {why[name]}",
                got=f"{name}={value}",
                remedy=f"Leave {name} out",
            )
    coverage = request.coverage
    known = ("window", "mean") if isinstance(statistic, ClampedMean) else ("window",)
    if coverage is not None and coverage.target not in known:
        raise InvalidParameter(
            expected=f"an interval for these records, for the {statistic.describe()}",
            got=f"covers={coverage.target!r}",
            remedy="Leave covers out",
        )
