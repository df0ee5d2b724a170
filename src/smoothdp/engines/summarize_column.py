"""The summary of a column for one statistic: n, the exact window sum and the tails.

The order statistics at the ends of the window are found by counting values by their leading
bits, 12 at a time, in the parts where the wanted ranks lie; what is left is collected. The
data are passed over 3 to 8 times, and only counts and tails leave a partition.
"""

from __future__ import annotations

import operator
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from smoothdp.engines.codes import WHOLE, Cell, Runs, values_of
from smoothdp.engines.column_jobs import CollectCells, SumBetween, Tally, TallyCells, merge_codes
from smoothdp.engines.job import Job, Run
from smoothdp.errors import InvalidData, InvalidParameter
from smoothdp.exact.parameters.numbers import Parameter
from smoothdp.queries import ColumnSummary, Query
from smoothdp.queries.read_arguments import read_smoothing
from smoothdp.queries.windows.column_summary import MoreNeeded
from smoothdp.queries.windows.selected import first_reach
from smoothdp.queries.windows.sides import Clamp

_SMALL = 4096
"""Parts of so many values are collected rather than divided further."""


class _Wanted(NamedTuple):
    """A cell to look into, how many values are below it, and the ranks wanted, from 1."""

    cell: Cell
    below: int
    first: int
    last: int


def summarize_column(run: Run, query: Query, *, smoothing: Parameter) -> ColumnSummary:
    """Return what a release of a statistic needs of a column that is in many places.

    Give it to `SmoothNoise.release` in place of the data: the released law is the same, bit
    for bit of its parameters. As private as the data.

    Args:
        run: over the one column.
        query: the statistic with its window, such as ``mechanism.windowed``.
        smoothing: t, such as ``mechanism.smoothing``: longer tails are taken for a smaller t.

    Raises:
        InvalidData: no rows, values that are missing or infinite, fewer than the window needs.
        InvalidParameter: a statistic that clamps its output.
        OutOfReach: tails of more than 2^23 distinct values.

    >>> from smoothdp.engines import run_here
    >>> from smoothdp.queries import Median
    >>> parts = [[np.array([5.0, 1.0])], [np.array([9.0, 2.0, 40.0])]]
    >>> summary = summarize_column(run_here(parts), Median((0, 10)), smoothing="0.1")
    >>> Median((0, 10)).summary(summary, smoothing="0.1").value
    Fraction(5, 1)
    """
    rate = read_smoothing(smoothing)
    if query.truncate != "inputs":
        raise InvalidParameter(
            expected="a statistic that clamps its inputs",
            got="one that clamps its output",
            remedy='Build the statistic with truncate="inputs"',
        )
    whole_tally = run(Job(TallyCells((WHOLE,)), operator.add))
    if not whole_tally.n:
        raise InvalidData(
            expected="at least one value", got="none", remedy="Check that the column has rows"
        )
    drops = query.drops(whole_tally.n)
    if sum(drops) >= whole_tally.n:
        raise InvalidData(
            expected=f"more than {sum(drops)} values",
            got=f"{whole_tally.n}",
            remedy="Lower the shares of values that the statistic leaves out",
        )
    reach = first_reach(whole_tally.n, rate)
    while True:
        summary = _summary(run, whole_tally, drops, query, reach)
        try:
            query.summary(summary, smoothing=rate)
        except MoreNeeded as more:
            reach = max(2 * reach, more.reach)
        else:
            return summary


def _summary(
    run: Run, tally: Tally, drops: tuple[int, int], query: Query, reach: int
) -> ColumnSummary:
    n, (lo, hi), whole = tally.n, drops, bool(tally.whole)
    low_ranks = (max(1, lo + 1 - reach), lo + 1)
    high_ranks = (n - hi, min(n, n - hi + reach))
    runs = _resolve(run, tally, [low_ranks, high_ranks])
    low = values_of(runs.at_ranks(*low_ranks)[::-1], whole=whole)
    high = values_of(runs.at_ranks(*high_ranks), whole=whole)
    ends = [int(runs.at_ranks(rank, rank)[0]) for rank in (lo + 1, n - hi)]
    clamp = Clamp.on(low, query.bounds)
    first, last = clamp.value(low[0].item()), clamp.value(high[0].item())
    if ends[0] == ends[1]:
        total = (n - lo - hi) * first
    else:
        total = run(Job(SumBetween(ends[0], ends[1], query.bounds), operator.add))
        total += (runs.around(ends[0])[1] - lo) * first + (n - hi - runs.around(ends[1])[0]) * last
    return ColumnSummary(n, drops, query.bounds, Fraction(total), low, high)


def _resolve(run: Run, tally: Tally, ranks: list[tuple[int, int]]) -> Runs:
    """Return the runs of values that have the wanted ranks."""
    wanted = [_Wanted(WHOLE, 0, *pair) for pair in ranks]
    counts = list(tally.counts) * len(wanted)
    to_collect: dict[Cell, int] = {}
    known: dict[int, tuple[int, int]] = {}  # code -> (count, below)
    while wanted:
        further: list[_Wanted] = []
        for item, parts in zip(wanted, counts, strict=True):
            _divide(item, parts, further, to_collect, known)
        wanted = list(dict.fromkeys(further))
        if wanted:
            cells = tuple(item.cell for item in wanted)
            counts = list(run(Job(TallyCells(cells), operator.add)).counts)
    if to_collect:
        codes, amounts = run(Job(CollectCells(tuple(sorted(to_collect))), merge_codes))
        below = 0
        starts = sorted(to_collect.items())
        for code, amount in zip(codes.tolist(), amounts.tolist(), strict=True):
            while starts and starts[0][0].start <= code:
                below = starts.pop(0)[1]
            known[code] = (amount, below)
            below += amount
    ordered = sorted(known)
    return Runs(
        np.array(ordered, dtype=np.uint64),
        np.array([known[code][0] for code in ordered], dtype=np.int64),
        np.array([known[code][1] for code in ordered], dtype=np.int64),
    )


def _divide(
    item: _Wanted,
    parts: np.ndarray[tuple[int], np.dtype[np.int64]],
    further: list[_Wanted],
    to_collect: dict[Cell, int],
    known: dict[int, tuple[int, int]],
) -> None:
    """Sort the parts of a cell into known, to collect, and to divide further."""
    ends = item.below + np.cumsum(parts)
    below = ends - parts
    touched = np.flatnonzero((parts > 0) & (ends >= item.first) & (below < item.last))
    for index in touched.tolist():
        cell, amount, before = item.cell.part(index), int(parts[index]), int(below[index])
        inside = before >= item.first - 1 and int(ends[index]) <= item.last
        if cell.bits == 0:
            known[cell.start] = (amount, before)
        elif inside or amount <= _SMALL:
            to_collect[cell] = before
        else:
            further.append(_Wanted(cell, before, item.first, item.last))
