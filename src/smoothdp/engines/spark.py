"""Spark as an engine: counts from a DataFrame or Parquet; the rows never visit the driver.

Needs the extra ``spark`` and Java 17. Only deterministic work is given to Spark: a task that
is run again, or a frame that is computed again, gives the same counts.
"""

from __future__ import annotations

import os
import pickle
import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from smoothdp.claims.release import Release
from smoothdp.engines.by_key.release_table import release_table as _release_table
from smoothdp.engines.category_counts import category_counts as _category_counts
from smoothdp.engines.collecting.collect import collect as _collect
from smoothdp.engines.collecting.marked_rows import Users, require_users
from smoothdp.engines.collection import Collected, Summed
from smoothdp.engines.job import Job, Run, merged
from smoothdp.engines.randomized_counts import (
    RandomizedCounts,
    randomized_counts as _randomized_counts,
)
from smoothdp.engines.spark_columns import (
    NUMBERS,
    SINGLE,
    SLOTS,
    USERS,
    Kind,
    check_columns,
    quoted,
)
from smoothdp.engines.spark_failures import check_master, failure, is_damaged, java_fault
from smoothdp.engines.summarize_column import summarize_column as _summarize_column
from smoothdp.errors import InvalidData, MissingExtra, SmoothdpError
from smoothdp.exact.parameters.numbers import Parameter
from smoothdp.planning import CollectPlan
from smoothdp.queries import ColumnSummary, FixedStatistic, Query
from smoothdp.queries.statistic import Statistic
from smoothdp.tables.asked.arguments import read_by
from smoothdp.tables.asked.column_statistic import read_statistics
from smoothdp.tables.released_table import ReleasedTable

try:
    import pyarrow
    import pyspark
    from pyspark.sql import SparkSession, functions
except ImportError:
    raise MissingExtra("jobs on Spark", "spark") from None

Part = TypeVar("Part")
OLDEST_SPARK = (3, 5)
_RESULT = "part binary"


class SparkUnavailable(SmoothdpError, RuntimeError):
    """There is no Java that can start, Spark is too old, or it does not start."""


def _check_version(version: str) -> None:
    numbers = tuple(int(part) for part in version.split(".")[:2])
    if numbers < OLDEST_SPARK:
        raise SparkUnavailable(
            expected="Spark 3.5 or later", got=version, remedy='Run: pip install "smoothdp[spark]"'
        )


def connect(master: str = "local[2]", **settings: str) -> SparkSession:
    """Return a Spark session, made for trying and tests; a cluster brings its own.

    Args:
        master: such as "local[2]"; "local[2,4]" lets a task fail three times.
        settings: of Spark, "__" for ".": ``spark__driver__memory="2g"``.

    Raises:
        InvalidParameter: a master that Spark does not know.
        SparkUnavailable: no Java or one older than 17, Spark is too old, or it does not start.
    """
    check_master(master)
    _check_version(pyspark.__version__)
    fault = java_fault()
    if fault is not None:
        raise SparkUnavailable(**fault._asdict())
    # Workers must be this Python, where smoothdp is installed; Spark would take any python3.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.master(master).appName("smoothdp")
    # Nothing is sent anywhere, and the web page of the session is not served.
    defaults = {
        "spark.ui.enabled": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
    }
    for name, value in (defaults | {k.replace("__", "."): v for k, v in settings.items()}).items():
        builder = builder.config(name, value)
    try:
        return builder.getOrCreate()
    except Exception as error:  # py4j's and Spark's own, of many kinds
        raise SparkUnavailable(
            expected=f"Spark to start on {master!r}",
            got=failure(error),
            remedy="Check the master and the settings",
        ) from None


def frame_of(source: Any, *, session: Any = None) -> Any:
    """Return a DataFrame: the one given, or that of a Parquet file or folder.

    Raises:
        InvalidData: neither of the two, no such file, or one that is no Parquet.
        SparkUnavailable: its session runs a Spark that is too old.
    """
    if isinstance(source, str | Path):
        used = session or SparkSession.getActiveSession()
        if used is None:
            raise InvalidData(
                expected="a Spark session", got="none", remedy="Give session=, or use connect()"
            )
        try:
            source = used.read.parquet(str(source))
        except Exception as error:  # py4j's and Spark's own, of many kinds
            raise InvalidData(
                expected=f"Parquet at {str(source)!r}", got=failure(error), remedy="Check the path"
            ) from None
    if not hasattr(source, "mapInArrow") or not hasattr(source, "sparkSession"):
        raise InvalidData(
            expected="a Spark DataFrame or a Parquet path",
            got=type(source).__name__,
            remedy="Read the data with Spark, such as spark.read.parquet(path)",
        )
    _check_version(source.sparkSession.version)
    return source


def run_on(
    source: Any,
    columns: Sequence[str],
    *,
    kinds: Sequence[Kind] | None = None,
    session: Any = None,
) -> Run:
    """Return a run over columns of a DataFrame.

    Each partition leaves one result, which the driver merges.

    Args:
        kinds: what the job can take of each column; single values by default.

    Raises:
        InvalidData: a column that is not there, is there twice, or is of another kind.
    """
    frame = frame_of(source, session=session)
    check_columns(frame, columns, kinds or [SINGLE] * len(columns))
    # Names may hold dots, which mean fields without the quotes: jobs see plain names.
    chosen = frame.select(*[quoted(name) for name in columns])
    chosen = chosen.toDF(*[f"c{index}" for index in range(len(columns))])

    def run(job: Job[Part], /) -> Part:
        try:
            rows = chosen.mapInArrow(_Task(job), _RESULT).collect()
        except Exception as error:
            if not is_damaged(error):
                raise
            raise InvalidData(
                expected="Parquet in every file",
                got=failure(error),
                remedy="Check the files of the frame",
            ) from None
        parts: list[Part] = [_opened(row[0]) for row in rows]
        if not parts and job.nothing is None:
            raise InvalidData(
                expected="a DataFrame with rows",
                got="one without",
                remedy="Check the path and the filters",
            )
        return merged(parts, job)

    return run


class _Task:
    """Runs a job over the batches of one partition: once per try, with the same result."""

    def __init__(self, job: Job[Any]) -> None:
        self._job = job

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        part = None
        try:
            for batch in batches:
                columns = [_array(column) for column in batch.columns]
                one = self._job.of(columns)
                part = one if part is None else self._job.merge(part, one)
        except SmoothdpError as error:
            # What is wrong with the data is told by the driver, in its own words, and not tried
            # again; any other failure is Spark's to retry.
            part = error
        if part is not None:
            data = pickle.dumps(part if not isinstance(part, SmoothdpError) else _Refusal(part))
            yield pyarrow.RecordBatch.from_arrays([pyarrow.array([data])], names=["part"])


class _Refusal:
    def __init__(self, error: SmoothdpError) -> None:
        self.error = error


def _opened(data: bytes) -> Any:
    part = pickle.loads(bytes(data))
    if isinstance(part, _Refusal):
        raise part.error
    return part


def _array(column: Any) -> Any:
    return column.to_numpy(zero_copy_only=False)


def randomized_counts(
    source: Any,
    protocol: Summed,
    *,
    user: str,
    datum: str,
    key: bytes,
    window: int,
    users: Users = "check",
    n_answered: int | None = None,
    session: Any = None,
) -> RandomizedCounts:
    """Randomise a column and count: see `smoothdp.engines.randomized_counts`.

    Args:
        protocol, key, n_answered: as there.
        user, datum: columns; one row per user. The name of ``datum`` tells columns apart; tables
            with a column of one name are told apart by ``window``, or by keys of their own.
        window: a whole number >= 0: which collection of this column it is.
        users: "check" that no user has two rows (one shuffle of the column), or "unique":
            the caller knows.

    Raises:
        InvalidData: a user with two rows, besides what the job refuses.
        InvalidParameter: ``users`` that is neither, besides what the job refuses.
    """
    run = _run_of_users(source, user, datum, users=users, session=session)
    return _randomized_counts(
        run, protocol, key=key, column=datum, window=window, users="unique", n_answered=n_answered
    )


def collect(
    source: Any,
    protocol: Collected | CollectPlan,
    *,
    user: str,
    datum: str,
    key: bytes,
    window: int,
    users: Users = "check",
    n_answered: int | None = None,
    label: object = None,
    session: Any = None,
) -> Release[Any]:
    """Run a protocol, or a plan's, on a column and release it: see `smoothdp.engines.collect`.

    Args:
        protocol, key, n_answered, label: as there.
        user, datum, window, users: as in `randomized_counts`.

    Raises:
        InvalidData: a user with two rows, besides what the job refuses.
        InvalidParameter: ``users`` that is neither, besides what the job refuses.
    """
    run = _run_of_users(source, user, datum, users=users, session=session)
    return _collect(
        run,
        protocol,
        key=key,
        column=datum,
        window=window,
        users="unique",
        n_answered=n_answered,
        label=label,
    )


def _run_of_users(source: Any, user: str, datum: str, *, users: Users, session: Any) -> Run:
    """Return a run over users and data, each user once: by a shuffle of the column of users."""
    require_users(users)
    frame = frame_of(source, session=session)
    run = run_on(frame, [user, datum], kinds=[USERS, SINGLE])
    if users == "check":
        names = frame.select(quoted(user))
        if names.groupBy(names[0]).count().filter("count > 1").limit(1).count():
            raise InvalidData(
                expected="one row per user",
                got="a user with two",
                remedy="Aggregate each user's rows first",
            )
    return run


def category_counts(
    source: Any, column: str, *, stratum: str | None = None, session: Any = None
) -> dict[Any, Any]:
    """Return counts per category, or per stratum and category, of a DataFrame or Parquet."""
    columns = [column] if stratum is None else [stratum, column]
    return _category_counts(run_on(source, columns, session=session), strata=stratum is not None)


def summarize_column(
    source: Any, column: str, query: Query, *, smoothing: Parameter, session: Any = None
) -> ColumnSummary:
    """Return what a release needs of a column of a DataFrame or Parquet."""
    run = run_on(source, [column], kinds=[NUMBERS], session=session)
    return _summarize_column(run, query, smoothing=smoothing)


def release_table(
    source: Any,
    *,
    by: str | Sequence[str],
    statistics: Mapping[str, tuple[str | None, Statistic | FixedStatistic]],
    session: Any = None,
    **others: Any,
) -> ReleasedTable:
    """Return statistics of every group of a DataFrame or Parquet, with noise.

    The table of `smoothdp.release_table`; see `smoothdp.engines.release_table` for how. Rows do
    not visit the driver. Whole numbers with missing ones among them count as floats. Each pass
    reads the frame again, so it must have the same rows every time.

    Args:
        by, statistics: as there.
        others: the other arguments of `smoothdp.engines.release_table`, by name.

    Raises:
        InvalidData: a column that is absent, or of another type, besides what is raised there.
    """
    keys = list(read_by(by))
    asked = read_statistics(statistics, by=keys, coverage=None)
    numbers = list(dict.fromkeys(one.column for one in asked if one.column is not None))
    kinds = [SINGLE] * len(keys) + [NUMBERS] * len(numbers)
    run = run_on(source, [*keys, *numbers], kinds=kinds, session=session)
    return _release_table(run, by=by, statistics=statistics, **others)


def opened_counts(
    source: Any, column: str, *, key: Any, task: Any, card: Any, session: Any = None
) -> dict[int, int]:
    """Open the slots of a sealed batch and count them, as the analyser does.

    Executors open them, so they need the extra ``serve`` too, and see the key. See the guide.

    Args:
        column: binary values, each of one or more records: parts of a batch. A record is a slot
            of 52 bytes, with its signature of 256 where the task has an issuer.
        key: the analyser's `PrivateKey` of the window, which the card names.
        task, card: `Task` and `Card` of `smoothdp.services`; the card is that of the window.

    Returns:
        Value -> slots; 4294967295 counts dummies, -1 slots that do not open or mean nothing.

    Raises:
        InvalidData: a slot that comes twice or has no good signature of the issuer, or no slot
            that opens, as those of another window, besides what a run refuses.
        InvalidParameter: another key than the card's, no key, no task or no card of it.
    """
    from smoothdp.engines.opened_counts import check_opening, open_distinct

    check_opening(key=key, task=task, card=card)
    frame = frame_of(source, session=session)
    check_columns(frame, [column], [SLOTS])
    part = frame.select(quoted(column)).toDF("part")
    records = part.mapInArrow(partial(_split, signed=task.signed), "slot binary, signature binary")
    # One signature of a slot is enough: a slot that comes twice is refused in any case.
    copies = functions.count("*").alias("count")
    distinct = records.groupBy("slot").agg(functions.max("signature").alias("signature"), copies)
    return open_distinct(
        run_on(distinct, ["slot", "signature", "count"]), key=key, task=task, card=card
    )


def _split(batches: Iterator[Any], *, signed: bool) -> Iterator[Any]:
    from smoothdp.engines.opened_counts import split_records

    for batch in batches:
        joined = [part or b"" for part in batch.column(0).to_pylist()]
        records = [record for part in joined for record in split_records(part, signed=signed)]
        columns = [
            pyarrow.array([record[place] for record in records], type=pyarrow.binary())
            for place in range(2)
        ]
        yield pyarrow.RecordBatch.from_arrays(columns, names=["slot", "signature"])
