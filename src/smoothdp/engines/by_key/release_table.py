"""A table by key from data that are in many places: what the driver does."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from smoothdp.claims.budget import Budget, check_budget
from smoothdp.claims.guarantees.guarantee import Guarantee
from smoothdp.engines.by_key.far_groups import FarGroups
from smoothdp.engines.by_key.passes import CountGroups, Layout, merge_first, same_key
from smoothdp.engines.job import Job, Run
from smoothdp.errors import InvalidParameter
from smoothdp.exact.parameters.numbers import Parameter
from smoothdp.exact.random.entropy import Entropy, read_rng
from smoothdp.queries import FixedStatistic, Median, Quantile
from smoothdp.queries.fixed.fixed_statistic import Sums
from smoothdp.queries.read_arguments import Bounds
from smoothdp.queries.statistic import Statistic
from smoothdp.tables.grouping import key_kinds
from smoothdp.tables.released_table import ReleasedTable
from smoothdp.tables.request import TableRequest
from smoothdp.tables.table_mechanism import TableMechanism


# A caller's error state of numpy would show what the data are.
@np.errstate(all="ignore")
def release_table(
    run: Run,
    *,
    by: str | Sequence[str],
    keys: object,
    statistics: Mapping[str, tuple[str | None, Statistic | FixedStatistic]],
    guarantee: Guarantee,
    person: None = None,
    shares: Mapping[str, Parameter] | None = None,
    counts: bool = False,
    confidence: Parameter | None = None,
    n_guess: Parameter | Mapping[object, Parameter] | None = None,
    label: object = None,
    ledger: Budget | None = None,
    rng: Entropy | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> ReleasedTable:
    """Return the table of `smoothdp.release_table` from data that are in many places.

    The same mechanism under the same guarantee: neighbours add or remove one row. The first pass
    counts the rows of each group and adds up what sums need; the second looks for the order
    statistics near each window. Where they do not suffice, as with many equal values around a
    window or very large groups, there are further ones. What leaves a partition is bounded for
    each group. With public keys and one seed the result is that of `smoothdp.release_table`.
    A ledger is charged before anything is drawn; a later pass that fails leaves the charge.

    Source: proofs/tables#1; private keys: proofs/private-keys#6.

    Args:
        run: over the columns of ``by``, then those of the statistics, each once, in their order.
        by, keys, statistics, guarantee, shares, counts, confidence, n_guess, label, ledger, rng,
            progress: as there. Statistics are counts, sums, means, variances, medians and
            quantiles.
        person: None. Bounding persons needs all rows of each in one place.

    Raises:
        InvalidParameter: a person, or a statistic that needs all rows in one place, besides what
            is raised there.
        InvalidData: a column of a type that holds no such values.
        IncompatibleClaims, BudgetExceeded, LedgerError: as there.
        In all these cases nothing is released.

    >>> import smoothdp as sd
    >>> from smoothdp.engines import run_here
    >>> regions, wages = np.array(["N", "S"] * 500), np.arange(1000)
    >>> parts = [[regions[:300], wages[:300]], [regions[300:], wages[300:]]]
    >>> asked = {
    ...     "by": "region", "keys": ["N", "S", "W"], "counts": True,
    ...     "statistics": {"median": ("wage", sd.queries.Median((0, 5000)))},
    ...     "guarantee": sd.PureDP(2, neighbours="add_remove"),
    ... }
    >>> far = release_table(run_here(parts), **asked, rng=sd.SeededRandom(1))
    >>> here = sd.release_table(
    ...     {"region": regions, "wage": wages}, **asked, rng=sd.SeededRandom(1)
    ... )
    >>> far.columns() == here.columns()
    True
    """
    if person is not None:
        raise InvalidParameter(
            expected="rows as the unit: which rows of a person are kept can be chosen only where "
            "all of them are in one place",
            got=f"person={person!r}",
            remedy="Leave it out if each row is another person, or use smoothdp.release_table",
        )
    request = TableRequest.read(
        by=by,
        keys=keys,
        statistics=statistics,
        guarantee=guarantee,
        shares=shares,
        counts=counts,
        confidence=confidence,
        n_guess=n_guess,
        label=label,
    )
    layout = layout_of(request)
    mechanism = TableMechanism.of(request)
    source = read_rng(rng)
    check_budget(ledger, mechanism)
    public = None if request.selection is not None else request.keys
    count = CountGroups(layout, public)
    first = run(Job(count, merge_first, count.nothing))
    far = FarGroups(run, layout, request, first, request.keys)
    if public is not None:
        far.look_ahead()
    if ledger is not None:
        ledger.charge(mechanism)
    noisy = None
    if request.selection is not None:
        # Sorted: an order by rows would tell of the rows.
        ordered = sorted(range(len(first.keys)), key=lambda at: same_key(first.keys[at]))
        shown, noisy = request.selection.shown(first.rows[ordered], source)
        far.keys = [first.keys[ordered[place]] for place in shown.tolist()]
        far.look_ahead()
    return mechanism.release_groups(
        far.keys,
        far,
        None if noisy is None else [int(count) for count in noisy],
        rng=source,
        progress=progress,
    )


def layout_of(request: TableRequest) -> Layout:
    """Return what the columns of a partition are.

    Raises:
        InvalidParameter: a statistic that needs the rows of a group in one place.
    """
    sums: dict[str, tuple[str | None, Sums]] = {}
    windows: dict[str, tuple[str, Bounds]] = {}
    for statistic in request.statistics:
        query, column = statistic.query, statistic.column
        if isinstance(query, Sums):
            sums[statistic.name] = column, query
        elif isinstance(query, Median | Quantile) and column is not None:
            windows[statistic.name] = column, query.bounds
        else:
            raise InvalidParameter(
                expected=f"a count, sum, mean, variance, median or quantile for "
                f"{statistic.name!r}: others need the rows of a group in one place",
                got=query.describe(),
                remedy="Use one of these, or release the table where the rows are",
            )
    kinds = key_kinds(request.keys, request.by)
    return Layout(request.by, request.columns, kinds, sums, windows)
