"""A seventeenth round, on operations: what is promised of the largest tasks."""

from __future__ import annotations

import errno
import os
import sqlite3
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from threading import Thread
from typing import Any

import httpx
import pytest

from smoothdp.errors import InvalidData, LedgerError, SmoothdpError
from smoothdp.ledger import Entry, Ledger
from smoothdp.services.analyzer import release
from smoothdp.services.analyzer.analyzer import Analyzer
from smoothdp.services.analyzer.counting_at_last import TRYING_SECONDS
from smoothdp.services.analyzer.release_rule import rule
from smoothdp.services.analyzer.result_document import describe_batch
from smoothdp.services.analyzer.task_ledger import TaskLedger, WindowResult
from smoothdp.services.check_ledger import ledger_condition
from smoothdp.services.client.collector import fetch_result
from smoothdp.services.formats import batch
from smoothdp.services.formats.design.budget import KEY_SECONDS
from smoothdp.services.formats.design.task_shape import MOST_SLOTS
from smoothdp.services.formats.design.values import DUMMY
from smoothdp.services.formats.party_files import revoke_tokens
from smoothdp.services.formats.report import seal_report
from smoothdp.services.formats.result import SignedResult, most_result_bytes
from smoothdp.services.formats.task import Task
from smoothdp.services.issuer.issuer_party import issue_invitations
from smoothdp.services.shuffler.ingest import Taken
from smoothdp.services.shuffler.shuffler_tables import SEALED
from smoothdp.services.store.revoked import ids_of, revoke
from smoothdp.services.store.storage import SqliteStorage
from tests.services.storages import ONLY_SQLITE
from tests.services.worlds.directories import party_directories
from tests.services.worlds.older_copies import copy_of, put_in_place
from tests.services.worlds.party_world import WINDOW, PartyWorld
from tests.services.worlds.small_tasks import ANALYZER_SIGN, small_task

pytestmark = ONLY_SQLITE
DOCS = Path(__file__).parents[4] / "docs"
LONGEST = 500_000_000
"""Bytes of a value that both storages give out: SQLite's default is 1,000,000,000 for a value and a
row (SQLITE_MAX_LENGTH); PostgreSQL writes two digits for each byte, in less than 2^30."""


def test_a_window_as_full_as_a_task_allows_is_sealed(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """The protocol, 3.1: "M `max_batch` is at most 20,000,000 with an issuer, else 30,000,000";
    and 6: "if `min_batch` reports remain: a uniform order [...], parts, header, signature, marks
    file are stored"; the guide: "what was acknowledged is on disk", and is counted once.

    A model on the scale of 400 slots to the most that a task allows: all that a server gives out
    of a value is as much smaller. The marks file of a window is one value, of 16 bytes a slot.
    """
    task = small_task(*("histogram",), issuer=None, proof="none", size=4, epsilon="8", min_batch=80)
    assert task.slots == 5
    monkeypatch.setattr(batch, "PART_RECORDS", 16)
    world = PartyWorld(tmp_path, task)
    world.open_window()
    world.send_many(80)
    storage = world.shuffler.storage
    assert isinstance(storage, SqliteStorage)
    model = LONGEST * 80 * task.slots // MOST_SLOTS
    storage._connection.setlimit(0, model)  # SQLITE_LIMIT_LENGTH
    assert [sealed.state for sealed in world.seal()] == [SEALED]
    world.close()


def _of_many_places(task: Task) -> SignedResult:
    """Return what an analyser signs of a batch of 1.4 million, of 46 people in each place."""
    users, here = 1_400_000, 66 + 46
    tally = dict.fromkeys(range(task.size), here)
    tally[DUMMY] = users * task.slots - here * task.size
    ruling = rule(task, users=users, served=None, tally=tally)
    assert not ruling.state
    document = describe_batch(
        task, window=WINDOW, users=users, served=None, tally=tally, ruling=ruling
    )
    assert len(document["counts"]) == task.size
    signed = SignedResult.sign(document, ANALYZER_SIGN)
    assert len(signed.encode()) > most_result_bytes(())
    return signed


def _many_places() -> Task:
    places = tuple(f"населённый пункт {number}" for number in range(30_000))
    return small_task(
        *("low_communication_histogram",),
        issuer=None,
        proof="none",
        size=len(places),
        domain=places,
        epsilon="1",
        delta="1e-6",
        min_batch=1_000_000,
    )


def test_a_result_of_many_bins_comes_to_its_collector() -> None:
    """The protocol, 9: "A `GET /v2/tasks/{id}/results/{w}`: 200 released"; and 3.5: "`counts`, from
    the name of a bin [...] to its estimate".

    The window is charged, and what its number is nobody can read.
    """
    task = _many_places()
    signed = _of_many_places(task)
    answers = httpx.MockTransport(lambda _: httpx.Response(200, content=signed.encode()))
    with httpx.Client(base_url="https://analyser.example", transport=answers) as http:
        assert fetch_result(http, task, WINDOW, token="0" * 64) == (signed, "")


def test_the_check_compares_results_of_many_bins_too(tmp_path: Path) -> None:
    """The guide: "with `--results FOLDER` whether the ledger has charged all results that were
    published (signed, under whatever names, in folders below, and behind links, too; it says how
    many it compared)".

    A file above 4 MiB was passed by without a word, and the ledger called good.
    """
    task, published = _many_places(), tmp_path / "published"
    (tmp_path / "task.json").write_bytes(task.encoded)
    ledger = TaskLedger(tmp_path, task)
    ledger.charge(WINDOW - 1, batch=b"one")
    published.mkdir()
    small = SignedResult.sign({"task_id": task.task_id.hex(), "window": WINDOW - 1}, ANALYZER_SIGN)
    (published / "small").write_bytes(small.encode())
    assert ledger_condition(tmp_path, published).good
    (published / "large").write_bytes(_of_many_places(task).encode())
    assert not ledger_condition(tmp_path, published).good


def test_a_number_of_accounts_that_comes_while_a_window_is_ended_is_heard(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The protocol, 7: "a batch that is counted, and whose number of accounts is there, is never
    ended so"; the issuer's statement was acknowledged, and is "taken alike" whenever it comes.

    Whether it was there was looked at before the transaction that ends the window, which waits for
    whoever writes: for the very request that stores it, say.
    """
    world = PartyWorld(tmp_path, small_task())
    world.open_window()
    world.send_many(13)
    assert world.finish()["state"] == "counting"
    told: list[int] = []
    before = release._was_charged

    def meanwhile(analyzer: Analyzer, window: int) -> bool:
        told.append(world.tell_served(13, window))
        return before(analyzer, window)

    monkeypatch.setattr(release, "_was_charged", meanwhile)
    world.go_to(world.now + KEY_SECONDS + 1)
    for _ in range(2):
        release.work(world.analyzer)
    assert told == [201]
    assert world.result()["state"] == "RELEASED"
    assert world.charged() == [WINDOW]
    world.close()


@pytest.mark.parametrize(
    "fault",
    [
        sqlite3.OperationalError("disk I/O error"),
        sqlite3.OperationalError("unable to open database file"),
        sqlite3.OperationalError("database is locked"),
        OSError(errno.EMFILE, "Too many open files"),
        MemoryError(),
    ],
    ids=["disk", "open", "locked", "files", "memory"],
)
def test_a_fault_that_goes_again_is_no_end_of_a_batch_that_was_whole(
    tmp_path: Path, fault: Exception
) -> None:
    """The protocol, 7: "What was there whole before is counted and released also by an A that runs
    again only later"; the guide names as faults that are put off "locked: somebody else holds the
    database" and "disk: full, or broken".

    Of an analyser that comes back after seven days one round of work meets the fault.
    """
    world = PartyWorld(tmp_path, small_task())
    world.open_window()
    world.send_many(13)
    world.seal()
    world.deliver()
    assert world.tell_served(13) == 201
    world.go_to(world.now + KEY_SECONDS + 1)
    storage, faults = world.analyzer.storage, [fault]
    read = storage.read

    def failing(statement: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        if faults and "FROM part" in statement:
            raise fault
        return read(statement, values)

    storage.read = failing  # type: ignore[method-assign]
    with pytest.raises(type(fault)):
        release.work(world.analyzer)
    faults.clear()
    release.work(world.analyzer)
    assert world.result()["state"] == "RELEASED"
    world.close()


def test_a_fault_that_does_not_go_keeps_no_key_for_more_than_a_day(tmp_path: Path) -> None:
    """The guide: "a window that cannot be counted for seven days is ended, and its key goes": an
    analyser that comes back after that, and whose disk is broken, tries for one day.
    """
    world = PartyWorld(tmp_path, small_task())
    world.open_window()
    world.send_many(13)
    world.seal()
    world.deliver()
    assert world.tell_served(13) == 201
    world.go_to(world.now + KEY_SECONDS + 1)
    storage = world.analyzer.storage
    read = storage.read

    def failing(statement: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        if "FROM part" in statement:
            raise sqlite3.OperationalError("disk I/O error")
        return read(statement, values)

    storage.read = failing  # type: ignore[method-assign]
    for later in (0, TRYING_SECONDS - 1):
        world.go_to(world.now + later)
        with pytest.raises(sqlite3.OperationalError):
            release.work(world.analyzer)
        assert world.analyzer.cards.inner_key(WINDOW) is not None
    world.go_to(world.now + 2)
    with pytest.raises(sqlite3.OperationalError):
        release.work(world.analyzer)
    assert world.result()["state"] == "REFUSED"
    assert world.analyzer.cards.inner_key(WINDOW) is None
    world.close()


def test_a_result_that_cannot_be_read_is_not_passed_by(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The guide: "with `--results FOLDER` whether the ledger has charged all results that were
    published".

    Of a file that may be read, and whose disk does not give it, the ledger was called good.
    """
    task, published = small_task(), tmp_path / "published"
    (tmp_path / "task.json").write_bytes(task.encoded)
    TaskLedger(tmp_path, task).charge(WINDOW, batch=b"one")
    published.mkdir()
    for window in (WINDOW, WINDOW + 1):
        document = {"task_id": task.task_id.hex(), "window": window}
        signed = SignedResult.sign(document, ANALYZER_SIGN).encode()
        (published / f"{window}").write_bytes(signed)
    read = Path.read_bytes

    def failing(path: Path) -> bytes:
        if path.name == f"{WINDOW + 1}":
            raise OSError(errno.EIO, "Input/output error")
        return read(path)

    monkeypatch.setattr(Path, "read_bytes", failing)
    with suppress(SmoothdpError, OSError):
        assert not ledger_condition(tmp_path, published).good


def test_a_ledger_that_is_locked_for_a_moment_makes_no_second_end(tmp_path: Path) -> None:
    """The protocol, 3.5 and 7: "RELEASED, of a window that was charged, at an A whose older copy
    does not have the result"; "RELEASED, REFUSED, QUARANTINED are final".

    The window was released, the analyser's database is an older copy in which a part is missing,
    and somebody holds the ledger in the round that ends it: what was released is signed to be
    refused.
    """
    world = PartyWorld(tmp_path, small_task())
    world.open_window()
    world.send_many(13)
    world.seal()
    (batch_id, header) = world.shuffler.storage.read("SELECT batch_id, header FROM batch")[0]
    assert world.analyzer.put_batch(bytes(batch_id), bytes(header)) == 201
    copy = copy_of(tmp_path, "analyzer")
    world.deliver()
    assert world.tell_served(13) == 201
    release.work(world.analyzer)
    assert world.result()["state"] == "RELEASED"
    world.close()
    put_in_place(tmp_path, "analyzer", copy)
    world._open()
    assert world.result()["state"] == "arriving"
    world.go_to(world.now + KEY_SECONDS + 1)
    ledger = world.analyzer.ledger
    charged = ledger.charged

    def locked() -> dict[int, Entry]:
        raise LedgerError(expected="a ledger", got="a locked one", remedy="Again")

    ledger.charged = locked  # type: ignore[method-assign]
    with suppress(LedgerError):
        release.work(world.analyzer)
    ledger.charged = charged  # type: ignore[method-assign]
    release.work(world.analyzer)
    assert world.result()["state"] == "RELEASED"
    world.close()


def test_who_was_revoked_stays_so_where_another_list_finds_no_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The guide: "**Revoked is revoked.** `smoothdp task revoke` may be run by root or by the
    service's user", and so by both at once.

    A long list finds no room on the disk, a short one does in the last block of the file: the first
    took itself out again, and the second with it, of which it had been said that it is revoked.
    """
    path, one, many = tmp_path / "revoked", b"1" * 16, [bytes([n]) * 16 for n in range(200)]
    write, other = os.write, Thread(target=revoke, args=(path, [one]))

    def full(handle: int, data: Any) -> int:
        if len(data) < 200 * 33:
            return write(handle, data)
        other.start()
        # Until it is done, or for as long as it waits for this one.
        other.join(timeout=0.5)
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(OSError, match=os.strerror(errno.ENOSPC)):
        revoke(path, many)
    other.join()
    assert ids_of(path) == {one}


def test_no_page_lets_a_party_speak_plain_http_beyond_its_machine() -> None:
    """The protocol, 9: "HTTP/1.1 with TLS; plain HTTP on loopback alone"; the guide: "**Behind
    nginx**: `--behind-tls`, on loopback".

    So run, whoever reaches the port goes past the proxy: past its certificates of callers, which
    the example has for the analyser, and its limit of requests of an address; of connections the
    party itself has none then.
    """
    pages = sorted(DOCS.rglob("*.md"))
    lines = [line for page in pages for line in page.read_text("utf-8").splitlines()]
    commands = [line for line in lines if line.startswith("smoothdp serve") and "-tls" in line]
    assert commands
    assert [command for command in commands if "--host 0.0.0.0" in command] == []


# ---- held off ------------------------------------------------------------------------------------


def test_a_release_by_another_worker_while_a_window_is_ended_is_its_one_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The protocol, 7: "RELEASED, REFUSED, QUARANTINED are final"."""
    world = PartyWorld(tmp_path, small_task())
    world.open_window()
    world.send_many(13)
    assert world.finish()["state"] == "counting"
    released: list[int] = []

    def meanwhile(analyzer: Analyzer, window: int) -> bool:
        if not released:
            world.tell_served(13, window)
            released.append(release.release_counted(analyzer))
        return False

    monkeypatch.setattr(release, "_was_charged", meanwhile)
    world.go_to(world.now + KEY_SECONDS + 1)
    for _ in range(2):
        release.work(world.analyzer)
    assert released == [1]
    assert world.result()["state"] == "RELEASED"
    assert world.charged() == [WINDOW]
    assert world.analyzer.cards.inner_key(WINDOW) is None
    world.close()


def test_a_report_that_was_judged_before_its_window_was_sealed_is_not_acknowledged(
    tmp_path: Path,
) -> None:
    """The tutorial: "what a person was told is accepted is counted once"."""
    world = PartyWorld(tmp_path, small_task())
    world.open_window()
    world.send_many(13)
    sender = world.shuffler.sender(world.new_pass())
    assert sender is not None
    sealed = seal_report(world.report().encode(), world.card())
    judged = world.shuffler.judge(WINDOW, sender, sealed)
    assert not isinstance(judged, Taken)
    assert [one.users for one in world.seal()] == [13]
    assert world.shuffler.accept([judged]) == [Taken.CLOSED]
    assert world.shuffler.totals()["pending"] == 0
    world.close()


def test_what_another_program_has_spent_of_the_ledger_is_not_spent_again(tmp_path: Path) -> None:
    """The protocol, 7: "REFUSED if the budget is spent"; nothing is charged, nothing shown."""
    world = PartyWorld(tmp_path, small_task(windows=1))
    world.open_window()
    world.send_many(13)
    world.seal()
    world.deliver()
    assert world.tell_served(13) == 201
    other = WindowResult("another program", 1, "", world.task.guarantee)
    Ledger(world.analyzer.ledger.path).charge(other)
    release.work(world.analyzer)
    assert (world.result()["state"], len(world.charged())) == ("REFUSED", 1)
    assert world.analyzer.storage.read("SELECT 1 FROM release") == []
    world.close()


def test_an_invitation_is_not_revoked_where_passes_are_made(tmp_path: Path) -> None:
    """The guide: "Revoked is revoked": the exchanged file is refused, not noted in vain."""
    written = party_directories(tmp_path)
    (invitation,) = issue_invitations(written.issuer, 1)
    with pytest.raises(InvalidData, match="none was revoked"):
        revoke_tokens(written.shuffler, [invitation])
    assert not (written.shuffler / "revoked").exists()
    assert revoke_tokens(written.issuer, [invitation]) == 1
