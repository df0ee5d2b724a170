"""An eleventh round, on what parties keep: older copies, lost files, sealed counts."""

from __future__ import annotations

import contextlib
import socket
import sqlite3
import ssl
import struct
import time
from contextlib import ExitStack
from pathlib import Path

import pytest

from smoothdp.errors import InvalidData, LedgerError
from smoothdp.services.analyzer.counting import count_complete
from smoothdp.services.analyzer.release import work
from smoothdp.services.analyzer.window_cards import GATEWAY
from smoothdp.services.check import check_party
from smoothdp.services.formats.party_files import read_task
from smoothdp.services.formats.secrets import tag as tag_of
from smoothdp.services.issuer.window_keys import close_windows
from smoothdp.services.shuffler.shuffler_party import ShufflerParty
from tests.services.operations.certificates import Authority
from tests.services.operations.served import serving
from tests.services.storages import ONLY_SQLITE, SQLITE, files_of
from tests.services.worlds.directories import party_directories
from tests.services.worlds.older_copies import copy_of, put_in_place
from tests.services.worlds.party_world import PartyWorld
from tests.services.worlds.small_tasks import small_task
from tests.services.worlds.three_parties import HOUR, Parties
from tests.services.worlds.whole_world import WINDOW, WholeWorld, weak_task

NOBODY = "http://127.0.0.1:1"


@pytest.mark.parametrize("people_then", [0, 4])
@ONLY_SQLITE
def test_a_file_of_gateway_keys_that_is_made_anew_knows_the_windows_that_are_over(
    tmp_path: Path,
    people_then: int,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """The threat model: "The shuffler's database from an older copy is refused beside its keys
    from now"; also if the file of keys was lost after the window, and made anew.

    The shuffler hands over a second batch of the window, one person fewer, or says of a window
    that it handed over that it was destroyed: clients then count it no more.
    """
    world = WholeWorld(tmp_path, fast=True)
    world.open_window()
    for person in range(people_then):
        assert world.take_part(f"before {person}") == 202
    world.close()
    copy = copy_of(tmp_path, "shuffler.sqlite")
    world._open()
    for person in range(5):
        assert world.take_part(f"after {person}") == 202
    assert world.end()["state"] == "RELEASED"
    (first,) = world.shuffler.storage.read("SELECT batch_id, users FROM batch")
    world.close()
    for path in tmp_path.glob("gateway.sqlite*"):
        path.unlink()
    world._open()  # As after any loss of that file: nothing need be done.
    world.open_window(WINDOW + 3)
    world.close()
    put_in_place(tmp_path, "shuffler.sqlite", copy)
    try:
        world._open()
    except InvalidData:
        return
    world.seal()
    batches = world.shuffler.storage.read("SELECT batch_id, users FROM batch")
    destroyed = world.shuffler.is_expired(WINDOW)
    world.close()
    assert (batches, destroyed) in (([first], False), ([], False))


@pytest.mark.slow
@ONLY_SQLITE
def test_an_answer_over_tls_may_be_read_for_a_minute(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """The protocol: "An answer has a minute, and a second for each 64 kB [...]; a service that
    answers gives the reader as long". The guide: "An answer may be read for a minute, and a second
    for each 64 kB".

    Somebody on a slow line looks up a report: the marks of 7,500 slots, for which the page gives
    62 seconds, are read to their end 8 seconds after they were asked for. The shuffler has cut
    the connection off: TLS takes such an answer whole, and then the deadline of the next request
    runs, 5 seconds and one for each 64 kB.
    """
    written, authority = party_directories(tmp_path / "t"), Authority(tmp_path)
    certificate, key = authority.certificate("shuffler")
    tls = ["--certificate", str(certificate), "--certificate-key", str(key)]
    context = ssl.create_default_context(cafile=str(authority.ca))
    marks = bytes(120_000)
    with serving("shuffler", written.shuffler, "--analyzer", NOBODY, *tls) as party:
        task = read_task(written.shuffler)
        with contextlib.closing(sqlite3.connect(written.shuffler / "shuffler.sqlite")) as file:
            file.execute("INSERT INTO marks VALUES (?, ?, ?)", (task.task_id, 7, marks))
            file.commit()
        asked = f"GET /v2/tasks/{task.task_id.hex()}/marks/7 HTTP/1.1\r\nhost: x\r\n\r\n"
        with socket.socket() as line:
            # As on a line to another host, whose segments and windows are smaller.
            line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 12)
            line.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, 1460)
            line.connect(("127.0.0.1", party.port))
            line.settimeout(20.0)
            with context.wrap_socket(line, server_hostname="127.0.0.1") as connection:
                connection.sendall(asked.encode())
                time.sleep(8.0)
                read = bytearray()
                while len(read) < len(marks):
                    piece = connection.recv(1 << 16)
                    assert piece, f"cut off after {len(read)} of {len(marks)} bytes"
                    read += piece


@ONLY_SQLITE
def test_a_check_sees_an_older_copy_that_the_start_refuses(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """The guide: "`serve check` says in words whether the directory is fit: files, rights, keys,
    tables"; the start refuses the shuffler's database from an older copy beside its keys.
    """
    with ExitStack() as stack:
        parties = Parties(tmp_path, stack)
        for _ in range(3):
            parties.round()
        with contextlib.closing(sqlite3.connect(tmp_path / "shuffler" / "shuffler.sqlite")) as file:
            file.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        copy = copy_of(tmp_path / "shuffler", "shuffler.sqlite")
        parties.now += 2 * HOUR
        for _ in range(3):
            parties.round()
    put_in_place(tmp_path / "shuffler", "shuffler.sqlite", copy)
    with pytest.raises(InvalidData, match="older copy"):
        ShufflerParty.from_directory(tmp_path / "shuffler")
    wrong = {found.name for found in check_party(tmp_path / "shuffler") if not found.good}
    # The cards and the clock are of another time in any case.
    assert wrong - {"cards", "clock"}


@ONLY_SQLITE
def test_the_issuers_rows_lie_in_the_order_of_requests_while_a_window_is_open(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """The protocol says it: rows have a place by their tag, but their bytes lie in a page as they
    came, until the window is closed.
    """
    world = WholeWorld(tmp_path, fast=True)
    world.open_window()
    people = [str(person) for person in range(8)]
    for person in people:
        assert world.take_part(person) == 202
    world.issuer.storage.forget()
    data = (tmp_path / "issuer.sqlite").read_bytes()
    rows = world.issuer.storage.read("SELECT account_tag FROM issued")
    places = {bytes(tag): data.rfind(bytes(tag)) for (tag,) in rows}
    (key,) = world.issuer.storage.read("SELECT tag_key FROM window_key WHERE window = ?", (WINDOW,))
    world.close()
    tags = [
        tag_of(bytes(key[0]), bytes.fromhex(world.invitation_of(person))[:16]) for person in people
    ]
    came = [places[tag] for tag in tags]
    assert came == sorted(came, reverse=True)


@ONLY_SQLITE
def test_a_release_that_was_put_off_keeps_its_place_and_no_key(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """The protocol, of a batch whose release could not be charged for seven days: "It keeps its
    place in the budget; the inner key goes". The budget is of one window, the ledger away for
    nine days; when it is back there is no card before the release, nor after it.
    """
    world = WholeWorld(tmp_path, weak_task(windows=1))
    world.open_window()
    assert [world.take_part(str(person)) for person in range(4)] == [202] * 4
    world.seal()
    close_windows(world.issuer)
    world.tell()
    world.deliver()
    away = [path.rename(path.with_name(f"x{path.name}")) for path in tmp_path.glob("ledger-*.db*")]
    for days in (0, 8, 1):
        world.go_to(world.now + days * 86_400)
        with pytest.raises(LedgerError):
            work(world.analyzer)
    assert world.keys[1].scopes() == []
    for path in away:
        path.rename(path.with_name(path.name[1:]))
    later = int(world.now // HOUR) + 1
    gateway = world.shuffler.cards.offered_key(later)
    assert world.analyzer.cards.put_key(GATEWAY, later, gateway) == 404
    world.restart()
    assert world.analyzer.cards.put_key(GATEWAY, later, gateway) == 404
    work(world.analyzer)
    assert world.result()["state"] == "RELEASED"
    assert world.analyzer.cards.put_key(GATEWAY, later, gateway) == 404
    assert world.analyzer.storage.read("SELECT * FROM counts") == []
    world.close()


@pytest.mark.parametrize("waits", [False, True])
def test_what_was_counted_is_in_no_file_afterwards(
    tmp_path: Path, storage_kind: str, waits: bool
) -> None:
    """The values of a part lie in pages of their own, or sealed in PostgreSQL; released, or ended
    for want of the number of accounts, none is in any file, and no key of them is left.
    """
    task = small_task() if waits else small_task(issuer=None, proof="none", max_batch=2000)
    world = PartyWorld(tmp_path, task)
    world.open_window()
    world.send_many(40 if waits else 600, data=(1,))
    world.seal()
    world.deliver()
    count_complete(world.analyzer)
    values = struct.pack(">q", 1) * 8
    counted = files_of(tmp_path, "analyzer").count(values)
    assert (counted > 0) == (storage_kind == SQLITE)
    work(world.analyzer)
    if waits:
        world.go_to(world.now + 8 * 86_400)
        work(world.analyzer)
    assert world.result()["state"] == ("REFUSED" if waits else "RELEASED")
    left = files_of(tmp_path, "analyzer").count(values)
    keys = getattr(world.analyzer.storage, "_keys", None)
    scopes = [] if keys is None else keys.scopes()
    world.close()
    assert (left, scopes) == (0, [])
