"""Spark against one machine: equal counts and equal releases, also when tasks fail on the way.

Needs pyspark and Java; skipped without. SMOOTHDP_SPARK_ROWS sets the number of rows.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from smoothdp import ApproxDP, PureDP, SeededRandom, release_table
from smoothdp.engines import category_counts, randomized_counts, run_here
from smoothdp.errors import InvalidData, InvalidParameter
from smoothdp.mechanisms import SmoothNoise
from smoothdp.queries import ClampedMean, Count, Mean, Median, Quantile, Sum
from smoothdp.shuffle import BooleanSum, RealSum

pyspark = pytest.importorskip("pyspark")
pyarrow = pytest.importorskip("pyarrow")
if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
    pytest.skip("Java is not installed", allow_module_level=True)

from smoothdp.engines import spark  # noqa: E402 - what it needs is checked above

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning"),
]

ROWS = int(os.environ.get("SMOOTHDP_SPARK_ROWS", "10000000"))
KEY = bytes(range(32))
TRIES = 4


@pytest.fixture(scope="module")
def session() -> Iterator[Any]:
    made = spark.connect(f"local[2,{TRIES}]", spark__driver__memory="2g")
    made.sparkContext.setLogLevel("OFF")
    yield made
    made.stop()


@pytest.fixture(scope="module")
def columns() -> dict[str, np.ndarray[Any, Any]]:
    source = np.random.default_rng(11)
    return {
        "user": np.arange(ROWS),
        "delay": np.round(source.exponential(20, ROWS) - 10, 2),
        "smokes": (source.random(ROWS) < 0.2).astype(np.int8),
        "state": source.integers(0, 51, ROWS).astype(np.int16),
        "party": source.integers(0, 5, ROWS).astype(np.int8),
    }


@pytest.fixture(scope="module")
def folder(columns: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> Path:
    from pyarrow import parquet

    made = tmp_path_factory.mktemp("parquet")
    places = np.array_split(np.arange(ROWS), 4)
    for number, rows in enumerate(places):
        table = pyarrow.table({name: column[rows] for name, column in columns.items()})
        parquet.write_table(table, made / f"{number}.parquet")
    return made


def fails_at_first(batches: Iterator[Any]) -> Iterator[Any]:
    """Pass batches on, but end every second task at its first try, and one at its second too."""
    from pyspark import TaskContext

    context: Any = TaskContext.get()
    for place, batch in enumerate(batches):
        yield batch
        failures = 2 if context.partitionId() == 1 else context.partitionId() % 2
        if context.attemptNumber() < failures and place == 0:
            raise RuntimeError("injected")


def failing(session: Any, folder: Path) -> Any:
    """Return the frame of a folder whose tasks fail on the way, and then succeed."""
    frame = session.read.parquet(str(folder))
    return frame.mapInArrow(fails_at_first, frame.schema)


def tries_so_far(session: Any) -> int:
    """Return how many task tries have failed in the jobs of a session."""
    status = session.sparkContext.statusTracker()
    failed = 0
    for job in status.getJobIdsForGroup(None):
        info = status.getJobInfo(job)
        for stage in info.stageIds if info else ():
            found = status.getStageInfo(stage)
            failed += found.numFailedTasks if found else 0
    return failed


def test_counts_of_categories(session: Any, folder: Path, columns: dict[str, Any]) -> None:
    expected = category_counts(run_here([[columns["state"], columns["party"]]]), strata=True)
    before = tries_so_far(session)
    assert spark.category_counts(failing(session, folder), "party", stratum="state") == expected
    assert tries_so_far(session) > before
    plain = spark.category_counts(folder, "party", session=session)
    assert list(plain.values()) == np.bincount(columns["party"]).tolist()


@pytest.mark.parametrize(
    "query", [Median((-10, 300)), Quantile("0.99", bounds=(-10, 300)), Mean((-10, 300))]
)
def test_releases(session: Any, folder: Path, columns: dict[str, Any], query: Any) -> None:
    mechanism = SmoothNoise.calibrate(query, guarantee=PureDP("0.5"), n_records=ROWS)
    frame = failing(session, folder)
    summary = spark.summarize_column(
        frame, "delay", mechanism.windowed, smoothing=mechanism.smoothing
    )
    smoothing = mechanism.smoothing
    expected = mechanism.windowed.summary(columns["delay"], smoothing=smoothing)
    assert mechanism.windowed.summary(summary, smoothing=smoothing) == expected
    assert mechanism.release(summary, rng=SeededRandom(5)) == mechanism.release(
        columns["delay"], rng=SeededRandom(5)
    )


def test_randomise_and_count(session: Any, folder: Path, columns: dict[str, Any]) -> None:
    protocol = BooleanSum(ROWS, expected_random_users=ROWS // 100)
    names: dict[str, Any] = {"user": "user", "datum": "smokes"}
    here = randomized_counts(
        run_here([[columns["user"], columns["smokes"]]]),
        protocol,
        key=KEY,
        column="smokes",
        window=4,
        users="unique",
    )
    there = spark.randomized_counts(
        failing(session, folder), protocol, **names, key=KEY, window=4, users="unique"
    )
    assert there.messages.tolist() == here.messages.tolist()
    released = spark.collect(
        failing(session, folder), protocol, **names, key=KEY, window=4, users="unique"
    )
    estimate = protocol.estimate_from_total(int(here.messages[1]))
    assert released.value == estimate
    true = int(columns["smokes"].sum())
    # Six deviations of the noise.
    assert abs(estimate - true) < 6 * float(protocol.noise_mse()) ** 0.5


def test_a_second_computation_is_not_a_second_randomisation(session: Any) -> None:
    frame = session.range(0, 100_000, numPartitions=4).selectExpr("id AS user", "id % 2 AS bit")

    def afresh(batches: Iterator[Any]) -> Iterator[Any]:
        for batch in batches:
            flips = np.frombuffer(os.urandom(batch.num_rows), dtype=np.uint8) < 26
            bits = batch.column(1).to_numpy() ^ flips
            yield pyarrow.RecordBatch.from_arrays(
                [batch.column(0), pyarrow.array(bits)], ["user", "bit"]
            )

    # The hazard: a lazy frame with fresh noise is randomised again whenever it is read.
    lazy = frame.mapInArrow(afresh, "user long, bit long")
    sums = {lazy.groupBy().sum("bit").collect()[0][0] for _ in range(3)}
    assert len(sums) > 1
    protocol = BooleanSum(100_000, expected_random_users=20_000)
    names: dict[str, Any] = {"user": "user", "datum": "bit", "key": KEY}
    totals = {
        int(
            spark.randomized_counts(frame.repartition(parts), protocol, **names, window=0).messages[
                1
            ]
        )
        for parts in (1, 3, 7)
    }
    assert len(totals) == 1
    other = spark.randomized_counts(frame, protocol, **names, window=1)
    assert int(other.messages[1]) not in totals
    with pytest.raises(InvalidData, match="the same rows in every pass"):
        spark.randomized_counts(lazy, protocol, **names, window=0)


def test_two_columns_with_one_key(session: Any) -> None:
    """The difference is noise, also for columns that are equal, and where one row is another."""
    frame = session.range(20_000).selectExpr(
        "id AS user", "id % 2 AS a", "id % 2 AS b", "IF(id = 7, 0, id % 2) AS c"
    )
    protocol = BooleanSum(20_000, expected_random_users=4000)
    changed = frame.selectExpr("user", "c AS a")
    totals = [
        int(
            spark.randomized_counts(
                source, protocol, user="user", datum=datum, key=KEY, window=0
            ).messages[1]
        )
        for source, datum in ((frame, "a"), (frame, "b"), (changed, "a"))
    ]
    # The deviation of a difference is 60; each of the three is below 4 with probability .05.
    assert max(abs(totals[i] - totals[j]) for i, j in ((0, 1), (0, 2), (1, 2))) > 4


def test_real_numbers_are_randomised_as_here(session: Any) -> None:
    frame = session.range(500).selectExpr("concat('u', id) AS user", "id / 500.0D AS x")
    protocol = RealSum(500, expected_random_users=50, n_bits=4)
    there = spark.randomized_counts(frame, protocol, user="user", datum="x", key=KEY, window=0)
    users = np.array([f"u{i}" for i in range(500)])
    here = randomized_counts(
        run_here([[users, np.arange(500) / 500]]), protocol, key=KEY, column="x", window=0
    )
    assert there.messages.tolist() == here.messages.tolist()


def test_open_and_count(session: Any) -> None:
    from tests.services.formats.made import Made

    made = Made()
    reports = [made.report((user % 2, 0)) for user in range(4)]
    records = [
        slot + s for one in reports for slot, s in zip(one.slots, one.signatures, strict=True)
    ]
    # Parts that end in the middle of nothing: whole records only.
    parts = [(b"".join(records[at : at + 3]),) for at in range(0, len(records), 3)]
    frame = session.createDataFrame(parts, "bytes binary").repartition(4)
    flaky = frame.mapInArrow(fails_at_first, frame.schema)
    known: dict[str, Any] = {"key": made.inner, "task": made.task, "card": made.card}
    assert spark.opened_counts(flaky, "bytes", **known) == {0: 6, 1: 2}
    for wrong, words in (
        (records[0], "slots that are copies"),
        (made.report((1, 1)).slots[0] + bytes(256), "without a good signature"),
        (records[0][:52] + records[1][52:], "slots that are copies|without a good signature"),
    ):
        more = session.createDataFrame([*parts, (wrong,)], "bytes binary")
        with pytest.raises(InvalidData, match=words):
            spark.opened_counts(more, "bytes", **known)


def test_bad_frames(session: Any, folder: Path) -> None:
    frame = session.read.parquet(str(folder)).limit(10)
    with pytest.raises(InvalidData, match="a column 'delays'; got user, delay"):
        spark.summarize_column(frame, "delays", Median((0, 1)), smoothing=1)
    with pytest.raises(InvalidData, match="Spark DataFrame"):
        spark.category_counts([1, 2], "party")
    holes = frame.selectExpr("CASE WHEN user % 2 = 0 THEN delay END AS delay")
    with pytest.raises(InvalidData, match="one that is missing, infinite or too large"):
        spark.summarize_column(holes, "delay", Median((0, 1)), smoothing=1)
    with pytest.raises(InvalidData, match="a category in every row"):
        spark.category_counts(frame.selectExpr("CAST(NULL AS STRING) AS c"), "c")
    with pytest.raises(InvalidData, match="numbers in column 'c'; got type string"):
        spark.summarize_column(frame.selectExpr("'a' AS c"), "c", Median((0, 1)), smoothing=1)
    with pytest.raises(InvalidData, match="a DataFrame with rows; got one without"):
        spark.summarize_column(frame.filter("false"), "delay", Median((0, 1)), smoothing=1)
    twice = frame.selectExpr("0 AS user", "smokes")
    protocol = BooleanSum(10, expected_random_users=5)
    with pytest.raises(InvalidData, match="one row per user"):
        spark.randomized_counts(twice, protocol, user="user", datum="smokes", key=KEY, window=0)
    bad: tuple[Any, ...] = ("Check", "none", None, True)
    for users in bad:
        with pytest.raises(InvalidParameter, match="users='check' or users='unique'; got users="):
            spark.randomized_counts(
                twice, protocol, user="user", datum="smokes", key=KEY, window=0, users=users
            )
    for column, words in (
        ("array(user)", r"array<bigint>"),
        ("map(user, user)", "map<bigint,bigint>"),
        ("struct(user)", "struct<user:bigint>"),
    ):
        with pytest.raises(InvalidData, match=f"single values in column 'x'; got type {words}"):
            spark.category_counts(frame.selectExpr(f"{column} AS x"), "x")
    decimals = frame.selectExpr("CAST(delay AS DECIMAL(9, 2)) AS x")
    with pytest.raises(InvalidData, match=r"numbers in column 'x'; got type decimal\(9,2\)"):
        spark.summarize_column(decimals, "x", Median((0, 1)), smoothing=1)
    with pytest.raises(InvalidData, match="one column 'user'; got 2"):
        spark.category_counts(frame.selectExpr("user", "delay AS user"), "user")
    names = frame.selectExpr("delay AS `a.b c`", "state AS `a``b`")
    assert sum(spark.category_counts(names, "a`b").values()) == 10
    assert spark.summarize_column(names, "a.b c", Mean((0, 1)), smoothing=1).n_records == 10


def test_single_values_of_any_type_are_categories(session: Any) -> None:
    frame = session.range(4).selectExpr(
        "id AS whole",
        "CAST(id AS FLOAT) AS float",
        "CAST(id AS DECIMAL(5, 2)) AS decimal",
        "STRING(id) AS text",
        "BINARY(STRING(id)) AS binary",
        "id > 1 AS truth",
        "DATE'2020-01-01' AS day",
        "TIMESTAMP'2020-01-01 01:00:00' AS moment",
        "TIMESTAMP_NTZ'2020-01-01 01:00:00' AS clock",
        "INTERVAL 1 DAY AS days",
        *(["TIME'12:00:00' AS time"] if session.version >= "4.1" else []),
    )
    for name in frame.columns:
        assert sum(spark.category_counts(frame, name).values()) == 4, name


def test_bad_paths(session: Any, tmp_path: Path, folder: Path) -> None:
    def refusal(path: Path | str) -> str:
        with pytest.raises(InvalidData) as found:
            spark.category_counts(path, "party", session=session)
        assert found.value.__suppress_context__
        text = str(found.value)
        assert "\n" not in text
        return text

    assert "nofile.parquet'; got no such file" in refusal("nofile.parquet")
    assert "a folder without Parquet files" in refusal(tmp_path)
    assert "got Can not create a Path from an empty string" in refusal("")
    assert 'No FileSystem for scheme "foo"' in refusal("foo://a/b")
    text = tmp_path / "text.parquet"
    text.write_text("party\n1\n")
    assert "a file that is no Parquet, or a damaged one" in refusal(text)
    # A damaged file among sound ones is met in the middle of the job.
    mixed = tmp_path / "mixed"
    shutil.copytree(folder, mixed)
    (mixed / "9.parquet").write_bytes(b"PAR1" + bytes(100) + b"PAR1")
    assert "a file that is no Parquet, or a damaged one" in refusal(mixed)


def test_slots_that_are_none(session: Any) -> None:
    from dataclasses import replace

    from smoothdp.services.formats.slots import seal_slots
    from tests.services.formats.made import Made

    made = Made("none")
    slots = seal_slots([0, 1, 1], made.card)
    frame = session.createDataFrame([(b"".join(slots), 1)], "part binary, n int")
    known: dict[str, Any] = {"key": made.inner, "task": made.task, "card": made.card}
    assert spark.opened_counts(frame, "part", **known) == {0: 1, 1: 2}
    with pytest.raises(InvalidData, match="sealed slots in binary in column 'n'; got type int"):
        spark.opened_counts(frame, "n", **known)
    other = replace(made.card, window=8)
    with pytest.raises(InvalidData, match="of which none opens"):
        spark.opened_counts(frame, "part", **known | {"card": other})
    for name, value in (
        ("card", 8),
        ("key", made.inner.to_bytes().hex()),
        ("task", "analyzer/"),
    ):
        with pytest.raises(InvalidParameter, match=name):
            spark.opened_counts(frame, "part", **known | {name: value})


@pytest.mark.parametrize("master", ["nonsense", "", "local[x]"])
def test_masters_that_are_none(master: str) -> None:
    with pytest.raises(InvalidParameter, match="got master="):
        spark.connect(master)


def test_a_start_that_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: Any) -> None:
        raise RuntimeError("[JAVA_GATEWAY_EXITED] Java gateway process exited")

    monkeypatch.setattr(type(pyspark.sql.SparkSession.builder), "getOrCreate", fail)
    with pytest.raises(spark.SparkUnavailable, match="got a Java that ended at once"):
        spark.connect("local[1]")


def test_java_home_without_java(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", "/nonexistent")
    with pytest.raises(spark.SparkUnavailable, match="no bin/java in JAVA_HOME=/nonexistent"):
        spark.connect()


def test_no_java_and_old_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    monkeypatch.delenv("JAVA_HOME", raising=False)
    with pytest.raises(spark.SparkUnavailable, match="Java 17"):
        spark.connect()
    monkeypatch.undo()
    monkeypatch.setattr(pyspark, "__version__", "3.4.1")
    with pytest.raises(spark.SparkUnavailable, match=r"3\.5 or later; got 3\.4\.1"):
        spark.connect()

    class Old:
        mapInArrow = None  # noqa: N815 - Spark's name

        class sparkSession:  # noqa: N801
            version = "3.3.0"

    with pytest.raises(spark.SparkUnavailable, match=r"3\.3\.0"):
        spark.frame_of(Old())


TABLE: dict[str, Any] = {
    "by": ["state", "party"],
    "keys": {"state": list(range(51)), "party": [0, 1, 2, 9]},
    "counts": True,
    "statistics": {
        "median": ("delay", Median((-10, 300))),
        "late": ("delay", Quantile("0.9", bounds=(-10, 300))),
        "mean": ("delay", ClampedMean((-10, 300))),
        "smokers": ("smokes", Sum((0, 1), grid=1)),
    },
    "guarantee": PureDP(2, neighbours="add_remove"),
}


def test_a_table_by_key(session: Any, folder: Path, columns: dict[str, Any]) -> None:
    here = release_table(columns, **TABLE, rng=SeededRandom(4))
    before = tries_so_far(session)
    far = spark.release_table(failing(session, folder), **TABLE, rng=SeededRandom(4))
    assert tries_so_far(session) > before
    assert far.columns() == here.columns()
    assert far.sentence() == here.sentence()


def test_a_table_with_missing_values_labels_and_private_keys(session: Any) -> None:
    rows = [("N", 1, 2.5), ("S", None, 1.0), (None, 3, None), ("N", 4, float("nan"))] * 300
    frame = session.createDataFrame(rows, "region string, amount bigint, wage double")
    asked: dict[str, Any] = {
        "by": "region",
        "statistics": {
            "amounts": ("amount", Sum((0, 10), grid=1)),
            "with wage": ("wage", Count()),
            "wage": ("wage", Median((0, 10))),
        },
        "guarantee": ApproxDP(2, delta="1e-9", neighbours="add_remove"),
        "counts": True,
    }
    names = ("region", "amount", "wage")
    columns = dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))
    for keys in (["N", "S", "W"], "private"):
        far = spark.release_table(frame, keys=keys, **asked, rng=SeededRandom(6))
        here = release_table(columns, keys=keys, **asked, rng=SeededRandom(6))
        assert far.columns() == here.columns()
    empty = spark.release_table(frame.filter("amount > 99"), keys=["N"], **asked)
    assert list(empty.groups) == [("N",)]
    with pytest.raises(InvalidData, match="'salary'"):
        spark.release_table(
            frame,
            by="region",
            keys=["N"],
            statistics={"salary": ("salary", Count())},
            guarantee=PureDP(1, neighbours="add_remove"),
        )
