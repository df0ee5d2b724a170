"""What the intervals of a table's groups cover, where numbers of rows are private."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from smoothdp.claims.neighbours import Neighbours
from smoothdp.errors import InvalidParameter
from smoothdp.exact.parameters.numbers import Parameter
from smoothdp.mechanisms.release.bars.coverage import Coverage, read_coverage
from smoothdp.mechanisms.release.bars.coverage_words import quantile_name
from smoothdp.mechanisms.release.bars.targets import Target, default_target, is_narrow
from smoothdp.queries import FixedStatistic, TrimmedMean
from smoothdp.queries.fixed.fixed_statistic import Sums
from smoothdp.queries.private_size.padded_window import PaddedWindow
from smoothdp.queries.statistic import Statistic


def group_coverage(confidence: Parameter | None, covers: str | None) -> Coverage | None:
    """Return the coverage of medians and quantiles of groups; None without a confidence.

    Raises:
        InvalidParameter: another target than "quantile" or "window".

    >>> group_coverage("0.9", None).target
    'quantile'
    """
    if covers in ("population", "mean"):
        raise InvalidParameter(
            expected='covers "quantile" or "window" in a table, where numbers of rows are private',
            got=f"covers={covers!r}",
            remedy="Leave covers out for the plain quantile",
        )
    coverage = read_coverage(None, confidence, covers=covers, sd_bound=None)
    return replace(coverage, target="quantile") if coverage and covers is None else coverage


def coverage_of_group(
    coverage: Coverage | None, query: Statistic | FixedStatistic
) -> Coverage | None:
    """Return what the interval of one statistic covers: of a quantile what is asked for."""
    if coverage is None:
        return None
    target = default_target(query, Neighbours.ADD_REMOVE)
    return coverage if target == "quantile" else replace(coverage, target=target)


def target_of_group(coverage: Coverage | None, query: Statistic | FixedStatistic) -> Target | None:
    """Return its target; None without intervals."""
    made = coverage_of_group(coverage, query)
    return None if made is None else made.target


def check_group_windows(queries: Mapping[str, Statistic | FixedStatistic]) -> None:
    """Refuse, where it is asked for, an interval for a quantile from too narrow a window."""
    for name, query in queries.items():
        if is_narrow(query):
            raise InvalidParameter(
                expected="a window of at least 2 max(q, 1 - q) ranks for covers='quantile'",
                got=f"{name!r}: {query.describe()}",
                remedy="Widen the window, leave it out, or leave covers out",
            )


def fixed_group_words(query: FixedStatistic | TrimmedMean, rows: str) -> str:
    """Return what the interval of a statistic that is no quantile covers.

    Args:
        query: the statistic. rows: what is counted, such as "kept rows".
    """
    if isinstance(query, Sums):
        named = query.covers().replace("these values", f"the values of the {rows}")
        return f"{named.replace('these rows', f'the {rows}')}, not sampling error"
    if isinstance(query, TrimmedMean):
        return f"the mean of that window of the {rows}, not their trimmed mean, nor sampling error"
    # A `SkewedMean`: its height is drawn for each group.
    return (
        f"the mean of the values of the {rows}, clipped at the height that was released first, not "
        "the plain mean, nor sampling error"
    )


def window_group_words(window: PaddedWindow, rows: str, *, is_quantile: bool) -> str:
    """Return what the interval of a median or quantile covers.

    Args:
        window: the widest that a group gets. rows: as above.
        is_quantile: whether it is the quantile, and not the mean of the window.
    """
    if is_quantile:
        return f"{quantile_name(window)} of the {rows}, whatever the rows are, not sampling error"
    return f"the mean of that window of the {rows}, not the plain {window.name}, nor sampling error"
