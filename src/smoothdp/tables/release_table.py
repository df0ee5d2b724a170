"""`release_table`: statistics of every group of a file, under one guarantee."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from smoothdp.claims.budget import Budget, check_budget
from smoothdp.claims.guarantees.guarantee import Guarantee
from smoothdp.data.read_table import read_table, source_kind
from smoothdp.errors import InvalidParameter
from smoothdp.exact.parameters.numbers import Parameter
from smoothdp.exact.random.entropy import Entropy, read_rng
from smoothdp.tables.asked.column_statistic import StatisticOfColumn
from smoothdp.tables.grouping import key_kinds
from smoothdp.tables.person import Person
from smoothdp.tables.released_table import ReleasedTable
from smoothdp.tables.request import TableRequest
from smoothdp.tables.table_mechanism import TableMechanism


# A caller's error state of numpy would show what the data are.
@np.errstate(all="ignore")
def release_table(
    data: object,
    *,
    by: str | Sequence[str],
    keys: object,
    statistics: Mapping[str, StatisticOfColumn],
    guarantee: Guarantee,
    person: Person | None = None,
    shares: Mapping[str, Parameter] | None = None,
    counts: bool = False,
    confidence: Parameter | None = None,
    covers: str | None = None,
    n_guess: Parameter | Mapping[object, Parameter] | None = None,
    n_share: Parameter | None = None,
    where: object = None,
    derive: object = None,
    csv: object = None,
    label: object = None,
    ledger: Budget | None = None,
    rng: Entropy | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> ReleasedTable:
    """Return statistics of every group with noise: one release, one guarantee, one charge.

    Neighbours add or remove one row, so that the number of rows is private, and that of every
    group. Each row is in one group, so the table costs what one group costs. No row is refused:
    one with another key, or none, is in no group, and one without a value is left out of that
    statistic. Every public key is released, those without rows too.

    With a person, neighbours add or remove all rows of one person: some of them are kept, once,
    and the table is made of these. The guarantee is the person's. Keys that are private are shown
    only where enough persons (or rows, without a person) have them.

    Source: proofs/tables#1; persons: proofs/tables#5, #6; private keys: proofs/private-keys#6;
    the statistics: proofs/private-size#4.

    Args:
        data: a frame of pandas, polars, pyarrow or of what else narwhals reads, lazily too; a
            relation of DuckDB; a mapping from names to columns; the path of a file of CSV
            (.csv, .tsv, also .gz; "-" is standard input), of Parquet, or of a folder of these.
            Files are read in parts, and only the columns that are needed.
        by: the column of the keys, or several.
        keys: the groups, public: a list of labels or tuples, or for each column its labels. Or
            "private", under ApproxDP: all of delta goes to the keys.
        statistics: for each name of a result (column, query); a `Count` of all rows has no
            column, None, and one of a column counts those with a number in it. `Quantiles` of the
            name wage become results wage_0.1, wage_0.5, ..., which share what it gets. A third
            part is a mapping: round_to, a step for its values such as 1 for whole numbers, and a
            confidence of its own, None for no interval.
        guarantee: of the whole table, with neighbours="add_remove".
        person: whose rows are the unit; None: each row is a unit of its own.
        shares: what part of it each statistic gets, and "n", the counts, or "keys", private ones:
            by name. Counts or keys get a tenth, the statistics the rest in equal parts, unless
            said.
        counts: whether the number of rows of each group is a column of the result. Private keys
            bring it with them: of persons, if there is a person.
        confidence: for an interval beside each count and each value that says nothing else, paid
            for by its share. A variance has none: its column goes without, and `covers` of the
            result says so. Where a group is so small that an interval would cost more than it
            gives, it is that of the bounds.
        covers: what the intervals of medians and quantiles contain: "quantile" (unless said), the
            plain quantile of the group's rows, or "window", the mean of the window that is
            released. Those of other statistics contain what is released.
        n_guess: about how many rows a group has, from what is public: a number, or one for each
            public key. None: a count is bought, or comes with the key, and its low end is taken.
        n_share: what part of the guarantee the counts get: the same as shares={"n": ...}.
        where: which rows the table is about, by what is public of each: a mapping from a column
            to its value, a list of values, {"not": ...}, or bounds such as {"at_least": 18,
            "below": 65} ("above", "at_most"; of numbers, or of texts such as "2026-01-31"); or a
            function of one row, a mapping. A row without a value does not pass, nor one on which
            the function fails.
        derive: columns that a function of one row makes, by name; where it fails, nothing is
            there.
        csv: how a file of CSV writes its fields: a `smoothdp.data.CsvFormat`, or its arguments by
            name, such as {"delimiter": ";", "decimal": ",", "na": "NA"}.
        label: a name for the ledger, or a `Label` with purpose and who.
        ledger: a `Ledger`, charged once, before the data are used.
        rng: `SystemRandom()` (default), or `SeededRandom`, marked not private.
        progress: called with (groups done, groups in all).

    Raises:
        InvalidParameter: an argument outside its domain, a key twice, shares of more than 1, or
            no noise keeps a part of the guarantee.
        InvalidData: a column that is absent, or of a type that holds no such values, or a file
            that cannot be read.
        MissingExtra: a frame or Parquet without the ``data`` extra.
        IncompatibleClaims: a guarantee about replacing rows, or one that the ledger refuses.
        BudgetExceeded, LedgerError: the ledger refuses.
        In all these cases nothing is released.

    >>> import smoothdp as sd
    >>> people = {"region": ["N", "S"] * 500, "wage": list(range(1000))}
    >>> table = release_table(
    ...     people, by="region", keys=["N", "S", "W"], counts=True,
    ...     statistics={"median": ("wage", sd.queries.Median((0, 5000)))},
    ...     guarantee=sd.PureDP(2, neighbours="add_remove"), rng=sd.SeededRandom(1),
    ... )
    >>> table.columns()["n"], list(table.groups)
    ([500, 503, -10], [('N',), ('S',), ('W',)])
    """
    request = TableRequest.read(
        by=by,
        keys=keys,
        statistics=statistics,
        guarantee=guarantee,
        person=person,
        shares=shares,
        counts=counts,
        confidence=confidence,
        covers=covers,
        n_guess=n_guess,
        n_share=n_share,
        label=label,
        where=where,
        derive=derive,
    )
    mechanism = TableMechanism.of(request)
    read_rng(rng)
    if progress is not None and not callable(progress):
        raise InvalidParameter(
            expected="progress as a function of (groups done, groups in all)",
            got=f"progress={progress!r}"[:80],
            remedy="Leave it out, or give such a function",
        )
    check_budget(ledger, mechanism)
    table = read_table(
        data,
        categories=list(request.read_columns),
        numbers=list(request.columns),
        where=request.kept,
        derive=request.derived,
        csv=csv,
        kinds=key_kinds(request.keys, request.by),
    )
    kind = source_kind(data)
    if ledger is not None:
        ledger.charge(mechanism)
    released = mechanism.release(table, rng=rng, progress=progress)
    return replace(released, frame=kind)
