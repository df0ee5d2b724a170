"""What is wrong is named, in /readyz and in the log; a locked database leaves /livez alone."""

from __future__ import annotations

import asyncio
import errno
import io
import json
import logging
import shutil
import sqlite3
import ssl
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from smoothdp.errors import InvalidParameter, LedgerError, SmoothdpError
from smoothdp.services.operations.admin import Operations, admin_address
from smoothdp.services.operations.clock_guard import ClockGuard
from smoothdp.services.operations.health import (
    Condition,
    Health,
    Rounds,
    cards_condition,
    clock_condition,
    delivery_condition,
    disk_condition,
    storage_condition,
)
from smoothdp.services.operations.logs import (
    AGAIN_SECONDS,
    Cause,
    JsonLines,
    PutOff,
    cause_of,
    json_lines,
    said,
)
from smoothdp.services.operations.metrics import Metrics
from smoothdp.services.operations.tls import Trust
from smoothdp.services.shuffler.shuffler_party import ShufflerParty
from smoothdp.services.store.storage import SqliteStorage, StorageFull, StorageLocked
from smoothdp.services.wire.calls import connect
from smoothdp.services.wire.running import on_loopback
from tests.services.operations.certificates import Authority
from tests.services.operations.served import Served, serving
from tests.services.worlds.directories import party_directories

NOBODY = "http://127.0.0.1:1"


# ---- conditions


def conditions(**checks: Callable[[], Condition]) -> dict[str, Condition]:
    health = Health(checks, seconds=0.3)
    try:
        return {c.name: c for c in asyncio.run(health.conditions())}
    finally:
        health.close()


def test_each_thing_that_is_wrong_is_named(tmp_path: Path) -> None:
    def raises() -> Condition:
        raise OSError(errno.ENOSPC, "No space left on /secret")

    def sleeps() -> Condition:
        time.sleep(0.8)
        return Condition("slow", True, "")

    found = conditions(
        disk=lambda: disk_condition(tmp_path, least_percent=101),
        clock=lambda: clock_condition(ClockGuard()),
        cards=lambda: cards_condition(0, least=2),
        delivery=lambda: delivery_condition(3601),
        storage=raises,
    ) | conditions(slow=sleeps)
    assert not any(condition.good for condition in found.values())
    assert {name: c.cause for name, c in found.items()} == {
        "disk": Cause.DISK,
        "clock": Cause.CLOCK,
        "cards": Cause.CONNECTION,
        "delivery": Cause.CONNECTION,
        "storage": Cause.DISK,
        "slow": Cause.LOCKED,
    }
    assert "secret" not in json.dumps([c.to_json() for c in found.values()])


def test_what_is_right_is_right(tmp_path: Path) -> None:
    clocks = ClockGuard()
    clocks.heard(clocks.now())
    storage = SqliteStorage(tmp_path / "s.sqlite", "CREATE TABLE IF NOT EXISTS t (x INTEGER);")
    found = conditions(
        disk=lambda: disk_condition(tmp_path, least_percent=0),
        clock=lambda: clock_condition(clocks),
        cards=lambda: cards_condition(2, least=2),
        delivery=lambda: delivery_condition(3599),
        storage=lambda: storage_condition(storage),
    )
    assert all(condition.good for condition in found.values())
    storage.close()


def test_a_question_without_answer_is_not_asked_again_meanwhile() -> None:
    asked = []

    def slow() -> Condition:
        asked.append(1)
        time.sleep(0.5)
        return Condition("slow", True, "")

    async def thrice() -> list[bool]:
        return [(await health.conditions())[0].good for _ in range(3)]

    health = Health({"slow": slow}, seconds=0.1)
    assert asyncio.run(thrice()) == [False] * 3
    assert len(asked) == 1
    health.close()


def test_rounds_that_fail_or_do_not_end() -> None:
    now = [0.0]
    rounds = Rounds(pause=10, seconds=lambda: now[0])
    assert rounds.condition().good
    now[0] = 301
    assert "no round of work ended" in rounds.condition().says
    rounds.good()
    assert rounds.condition().good
    rounds.failed(PutOff("the analyser answered 401", Cause.REFUSED))
    condition = rounds.condition()
    assert (condition.good, condition.cause) == (False, Cause.REFUSED)
    assert condition.says.endswith("the analyser answered 401")
    rounds.good()
    assert rounds.condition().good


# ---- causes and lines


def caught(error: BaseException, inner: BaseException | None = None) -> BaseException:
    """Return an error as it looks where it arrives, with what it began with hidden."""
    try:
        try:
            raise inner or error
        except BaseException as first:
            if inner is None:
                raise
            raise error from None if isinstance(first, ssl.SSLError) else first
    except BaseException as second:
        return second


@pytest.mark.parametrize(
    ("error", "cause"),
    [
        (PutOff("401", Cause.REFUSED), Cause.REFUSED),
        (caught(OSError("no answer"), ssl.SSLError("bad certificate")), Cause.TLS),
        (caught(RuntimeError("x"), ConnectionRefusedError("refused")), Cause.CONNECTION),
        (OSError(errno.ENOSPC, "full"), Cause.DISK),
        (StorageFull("full"), Cause.DISK),
        (sqlite3.OperationalError("database is locked"), Cause.LOCKED),
        (
            caught(
                StorageLocked(expected="a", got="b", remedy="c"),
                sqlite3.OperationalError("database is locked"),
            ),
            Cause.LOCKED,
        ),
        (LedgerError(expected="a", got="b", remedy="c"), Cause.LEDGER),
        (ZeroDivisionError("secret"), Cause.OTHER),
    ],
)
def test_causes(error: BaseException, cause: Cause) -> None:
    assert cause_of(error) is cause


def test_a_line_is_written_when_the_cause_changes_and_after_ten_minutes() -> None:
    now, stream = [0.0], io.StringIO()
    log = logging.getLogger("smoothdp.services.test")
    handler = JsonLines("shuffler", stream=stream, seconds=lambda: now[0])
    log.addHandler(handler)
    log.propagate = False
    try:
        for at, cause in (
            (0, Cause.LOCKED),
            (10, Cause.LOCKED),
            (20, Cause.DISK),
            (30, Cause.LOCKED),
            (31, Cause.LOCKED),
            (30 + AGAIN_SECONDS, Cause.LOCKED),
        ):
            now[0] = at
            said(log, "work was put off", cause)
        said(log, "another event", Cause.LOCKED)
    finally:
        log.removeHandler(handler)
        log.propagate = True
    lines = [json.loads(line) for line in stream.getvalue().splitlines()]
    assert [line["cause"] for line in lines] == ["locked", "disk", "locked", "locked", "locked"]
    assert {"time", "party", "level", "event", "cause"} == set(lines[0])


def test_what_other_libraries_say_is_not_written() -> None:
    stream = io.StringIO()
    with json_lines("shuffler", stream=stream):
        logging.getLogger("asyncio").error("socket.accept() from %s", "203.0.113.9")
        try:
            raise ValueError("Bearer deadbeef")
        except ValueError:
            logging.getLogger("uvicorn.error").exception("GET /v1?token=deadbeef")
        logging.getLogger("asyncio").warning("a\nb")
    text = stream.getvalue()
    assert "203" not in text
    assert "deadbeef" not in text
    lines = [json.loads(line) for line in text.splitlines()]
    assert [(line["event"], line["kind"]) for line in lines] == [
        ("asyncio had trouble", ""),
        ("uvicorn had trouble", "ValueError"),
    ]


def test_unrest_is_said_once_and_its_end_too() -> None:
    stream, state = io.StringIO(), [False]
    health = Health({"disk": lambda: Condition("disk", state[0], "", Cause.DISK)})

    async def watched() -> None:
        task = asyncio.create_task(health.watch(seconds=0.01))
        await asyncio.sleep(0.2)
        state[0] = True
        await asyncio.sleep(0.2)
        task.cancel()

    with json_lines("analyzer", stream=stream):
        asyncio.run(watched())
    health.close()
    events = [json.loads(line)["event"] for line in stream.getvalue().splitlines()]
    assert events == ["not ready: disk", "ready again: disk"]


# ---- metrics


def test_metrics_say_nothing_of_a_window_that_is_open(tmp_path: Path) -> None:
    written = party_directories(tmp_path / "t")
    party = ShufflerParty.from_directory(written.shuffler)
    app = party.app(NOBODY, work_seconds=3600)
    operations: Operations = app.state.operations
    before = operations.metrics.text([])
    with on_loopback(app) as url, connect(url) as http:
        for _ in range(5):
            http.post(f"/v2/reports/{party.task.task_id.hex()}/1", content=b"x")
    # Neither requests nor bytes are counted: both follow the reports.
    after = [line for line in operations.metrics.text([]).splitlines() if "put_off" not in line]
    assert after == [line for line in before.splitlines() if "put_off" not in line]
    party.close()


def test_metrics_have_labels_of_closed_lists_only() -> None:
    metrics = Metrics("shuffler", totals={"batches": lambda: {"SEALED": 1}})
    metrics.put_off(Cause.TLS)
    text = metrics.text([Condition("disk", False, "3 % free")])
    assert 'smoothdp_condition{condition="disk",party="shuffler"} 0.0' in text
    assert 'smoothdp_batches{party="shuffler",state="SEALED"} 1.0' in text
    assert 'smoothdp_put_off_total{cause="tls",party="shuffler"} 1.0' in text
    assert "process_cpu" not in text
    # Another party's are another registry.
    assert 'party="analyzer"' in Metrics("analyzer").text([])
    assert 'party="shuffler"' not in Metrics("analyzer").text([])


@pytest.mark.parametrize(
    "text", ["0.0.0.0:9000", "9000", ":9000", "127.0.0.1", "127.0.0.1:x", "127.0.0.1:65536", ""]
)
def test_the_admin_port_is_of_this_machine_alone(text: str) -> None:
    with pytest.raises(InvalidParameter, match="--admin"):
        admin_address(text)


# ---- parties that run


def lock(path: Path) -> sqlite3.Connection:
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    return other


def locked_for(tmp_path: Path, seconds: float) -> None:
    written = party_directories(tmp_path / "t")
    token = "0" * 96
    with serving("shuffler", written.shuffler, "--analyzer", NOBODY) as party:
        other = lock(written.shuffler / "shuffler.sqlite")
        began = time.monotonic()
        try:
            while time.monotonic() - began < seconds:
                asked = time.monotonic()
                assert party.ask("/livez").text == "ok"
                task_id = written.task.task_id.hex()
                marks = party.get(f"/v2/tasks/{task_id}/marks/1", timeout=2)
                assert marks.status_code == 404
                path = f"/v2/reports/{task_id}/1"
                headers = {"authorization": f"Bearer {token}"}
                url = f"http://127.0.0.1:{party.port}{path}"
                assert httpx.post(url, content=b"x", headers=headers, timeout=2).status_code == 401
                assert time.monotonic() - asked < 1
                time.sleep(0.2)
        finally:
            other.execute("ROLLBACK")
            other.close()


@pytest.mark.slow
def test_a_locked_database_leaves_the_service_alive(tmp_path: Path) -> None:
    locked_for(tmp_path, 2)


@pytest.mark.slow
def test_a_database_locked_for_40_seconds(tmp_path: Path) -> None:
    locked_for(tmp_path, 40)


def test_reading_waits_for_nobody_that_writes(tmp_path: Path) -> None:
    storage = SqliteStorage(tmp_path / "s.sqlite", "CREATE TABLE t (x INTEGER);")
    other = lock(tmp_path / "s.sqlite")
    began = time.monotonic()
    assert storage.read("SELECT x FROM t") == []
    other.execute("ROLLBACK")
    other.close()
    with storage.transaction() as change:
        change.change("INSERT INTO t VALUES (1)")
        # What is not committed is not read.
        assert storage.read("SELECT x FROM t") == []
    assert storage.read("SELECT x FROM t") == [(1,)]
    assert time.monotonic() - began < 1
    storage.close()


def test_a_lock_that_lasts_is_a_reason_to_wait_in_words(tmp_path: Path) -> None:
    storage = SqliteStorage(tmp_path / "s.sqlite", "CREATE TABLE t (x);", busy_seconds=0.1)
    other = lock(tmp_path / "s.sqlite")
    with (
        pytest.raises(StorageLocked, match="locked by another process") as error,
        storage.transaction(),
    ):
        pass
    assert cause_of(error.value) is Cause.LOCKED
    other.execute("ROLLBACK")
    other.close()
    storage.close()


@contextmanager
def analyzer_with_tls(tmp_path: Path, authority: Authority) -> Iterator[Served]:
    """Serve an analyser of the same task, with other tokens, and three days of certificate."""
    certificate, key = authority.certificate("server", days=3)
    written = party_directories(tmp_path / "other")
    tls = ["--certificate", str(certificate), "--certificate-key", str(key)]
    with serving("analyzer", written.analyzer, *tls, scheme="https") as analyzer:
        yield analyzer


def test_causes_of_rounds_that_fail(tmp_path: Path) -> None:
    """A peer that is not there, one that is not who it should be, one that refuses."""
    authority, stranger = Authority(tmp_path, "ours"), Authority(tmp_path, "theirs")
    written = party_directories(tmp_path / "t")
    leave_a_batch(written.shuffler)
    party = ShufflerParty.from_directory(written.shuffler)
    with analyzer_with_tls(tmp_path, authority) as analyzer:
        url = f"https://127.0.0.1:{analyzer.port}"
        for peer, ca, cause in (
            (NOBODY, None, Cause.CONNECTION),
            (url, None, Cause.TLS),
            (url, stranger.ca, Cause.TLS),
            (url, authority.ca, Cause.REFUSED),
        ):
            with pytest.raises((OSError, SmoothdpError)) as caught:
                party.work(peer, trust=Trust(ca=ca))
            assert cause_of(caught.value) is cause
        # The clock: no shuffler that it knows has told it the time.
        assert analyzer.wrong() == {"certificate", "clock"}
    party.close()


@pytest.mark.slow
def test_causes_of_failure_are_lines_of_the_log(tmp_path: Path) -> None:
    authority, stranger = Authority(tmp_path, "ours"), Authority(tmp_path, "theirs")
    written = party_directories(tmp_path / "t")
    leave_a_batch(written.shuffler)
    quick = ["--work-seconds", "0.2"]
    with analyzer_with_tls(tmp_path, authority) as analyzer:
        url = f"https://127.0.0.1:{analyzer.port}"
        for peer, ca, cause in (
            (NOBODY, None, "connection"),
            (url, stranger.ca, "tls"),
            (url, authority.ca, "refused 401"),
        ):
            more = ["--ca", str(ca)] if ca else []
            with serving("shuffler", written.shuffler, "--analyzer", peer, *quick, *more) as party:
                party.wait(lambda: "round" in party.wrong())
                assert party.ask("/livez").text == "ok"
                party.wait(lambda: len(party.lines()) > 1)
                put_off = [x for x in party.lines() if x["event"] == "work was put off"]
                assert [line["cause"] for line in put_off] == [cause]
                none = f'smoothdp_put_off_total{{cause="{cause}",party="shuffler"}} 0.0'
                assert none not in party.ask("/metrics").text


def leave_a_batch(directory: Path) -> None:
    """Leave a batch to be delivered."""
    party = ShufflerParty.from_directory(directory)
    with party.shuffler.storage.transaction() as change:
        change.change(
            "INSERT INTO batch (batch_id, task_id, window, state, users, header) "
            "VALUES (?, ?, ?, ?, ?, ?)",
            (b"b" * 16, party.task.task_id, 1, "SEALED", 10, b"header"),
        )
    party.close()


def test_a_full_disk_makes_a_party_unready(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = shutil.disk_usage(tmp_path)
    monkeypatch.setattr(
        shutil, "disk_usage", lambda _: usage._replace(free=usage.total * 45 // 1000)
    )
    assert disk_condition(tmp_path).says.startswith("4 % free")
    assert not disk_condition(tmp_path).good
