"""What strangers do to a service, and what an operator does who follows the guides literally."""

from __future__ import annotations

import shutil
import socket
import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from random import Random

import pytest
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from smoothdp.errors import LedgerError, SmoothdpError
from smoothdp.ledger import Ledger
from smoothdp.services.analyzer.analyzer_party import AnalyzerParty
from smoothdp.services.analyzer.release import work
from smoothdp.services.issuer.issuer import Issuer
from smoothdp.services.issuer.issuer_party import IssuerParty
from smoothdp.services.issuer.issuer_tables import ISSUER_SCHEMA
from smoothdp.services.operations.clock_guard import ClockGuard
from smoothdp.services.operations.party_server import PartyServer, config_of
from smoothdp.services.operations.tls import Served
from smoothdp.services.shuffler.shuffler_party import ShufflerParty
from smoothdp.services.store.revoked import Revoked
from smoothdp.services.store.storage import SqliteStorage, StorageLost
from smoothdp.services.wire.problems import Problem
from tests.services.issuer.test_issuing import request
from tests.services.operations.certificates import Authority
from tests.services.storages import ONLY_SQLITE
from tests.services.worlds.checked import what_is_wrong
from tests.services.worlds.issuing_world import INVITATION_KEY, WINDOW, IssuingWorld
from tests.services.worlds.party_world import PartyWorld
from tests.services.worlds.small_tasks import ISSUER_SIGN, small_task
from tests.services.worlds.three_parties import Parties

ANSWER = 15_000
"""Bytes of an answer that counts as short: a connection may be silent for `SILENT` after it."""
SILENT = 0.6
APP = Starlette(routes=[Route("/", lambda _: PlainTextResponse("x" * ANSWER))])
ASK = b"GET / HTTP/1.1\r\nhost: x\r\n\r\n"
NO_LENGTH = b"POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n"
LONG_HEADER = b"GET / HTTP/1.1\r\nhost: x\r\nx-a: " + b"a" * 70_000 + b"\r\n\r\n"


@contextmanager
def listening(folder: Path | None) -> Iterator[PartyServer]:
    """Serve short answers, over TLS where there is a folder for a certificate.

    The system keeps little of what is not read: with the usual buffers an answer of some
    megabytes, such as a file of marks, does the same.
    """
    listener = socket.create_server(("127.0.0.1", 0), backlog=16)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
    served = None if folder is None else Served(*Authority(folder).certificate("server"))
    with listener:
        server = PartyServer(
            config_of(APP, *listener.getsockname()),
            most_of_address=256,
            header_seconds=SILENT,
            tls=None if served is None else served.context,
        )
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
        thread.start()
        try:
            until(lambda: server.started, seconds=10)
            yield server
        finally:
            server.should_exit = True
            thread.join(timeout=20)


def until(condition: object, *, seconds: float) -> bool:
    """Wait until a condition holds; return whether it does."""
    assert callable(condition)
    deadline = time.monotonic() + seconds
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.02)
    return bool(condition())


def stranger(server: PartyServer, *, tls: bool) -> socket.socket:
    """Connect as somebody who reads next to nothing."""
    connection = socket.socket()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
    connection.connect(server._listeners[0].getsockname())
    if not tls:
        return connection
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context.wrap_socket(connection)


@pytest.mark.parametrize("last", [b"", NO_LENGTH, LONG_HEADER], ids=["none", "411", "431"])
@pytest.mark.parametrize("tls", [False, True], ids=["plain", "tls"])
def test_who_reads_no_answer_is_gone_also_after_a_request_that_is_refused(
    tmp_path: Path, last: bytes, tls: bool
) -> None:
    """The guide: "A connection has 5 seconds from its start, and again after each answer [...] to
    the end of its headers"; "An answer may be read for a minute, and a second for each 64 kB".

    Somebody asks, reads no answer, and sends a request that is refused before all else. Such
    connections would stay for ever, 256 of an address, until nobody is served.
    """
    with listening(tmp_path if tls else None) as server, stranger(server, tls=tls) as connection:
        connection.sendall(ASK)
        assert until(lambda: server.server_state.total_requests == 1, seconds=5)
        with suppress(OSError):
            connection.sendall(last)
        if isinstance(connection, ssl.SSLSocket):
            # The end of TLS: the time that its end may take is over with it.
            connection.setblocking(False)
            with suppress(OSError):
                connection.unwrap()
        gone = until(lambda: not server.server_state.connections, seconds=7 if tls else 3)
        assert gone, "the connection is there for good"
        assert not server.server_state.of_address


def open_world(folder: Path) -> PartyWorld:
    """Return parties of which the analyser has a whole batch of a window."""
    world = PartyWorld(folder, small_task(issuer=None, proof="none"))
    world.open_window()
    world.send_many(12)
    world.seal()
    world.deliver()
    return world


def charged_in_a_copy(ledger: Path, folder: Path) -> list[int]:
    """Return the windows that are charged in a copy of the one file, as the guide has it made."""
    folder.mkdir()
    copy = shutil.copy(ledger, folder)
    return [int(entry.parameters["window"]) for entry in Ledger(copy).entries()]


@ONLY_SQLITE
@pytest.mark.parametrize("gone", ["-wal", "-shm", None])
def test_a_release_is_charged_in_the_file_of_the_ledger_or_is_none(
    tmp_path: Path,
    gone: str | None,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """The guide: "the one file `ledger-*.db` has all charges then"; the protocol: "charge the
    ledger, **on disk first**"; the tutorial: "The charge was in the analyser's ledger, on disk,
    before the result was shown".

    The log of the ledger, of no bytes between two releases, was removed while the analyser ran.
    """
    world = open_world(tmp_path)
    ledger = world.analyzer.ledger.path
    if gone is not None:
        ledger.with_name(ledger.name + gone).unlink()
    with suppress(LedgerError):
        work(world.analyzer)
    released = world.analyzer.storage.read("SELECT window FROM release")
    charged = charged_in_a_copy(ledger, tmp_path / "backup")
    if gone is None:
        assert released
    assert {int(window) for (window,) in released} <= set(charged)
    world.close()


@ONLY_SQLITE
def test_an_analyser_whose_ledger_has_lost_its_log_is_not_ready(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """The guide: `/readyz` answers "200, or 503 and the names of what is wrong"; a log that
    somebody removed is named of the database, and "ledger" is "not there, or damaged".

    What is charged from now on goes into a file without a name.
    """
    with ExitStack() as stack:
        parties = Parties(tmp_path, stack, windows=1)
        parties.analyzer.work()
        checks = parties.analyzer.app().state.operations.checks
        assert checks["ledger"]().good
        (log,) = (tmp_path / "analyzer").glob("ledger-*.db-wal")
        assert not log.read_bytes()
        log.unlink()
        parties.analyzer.work()
        assert not checks["ledger"]().good


def another_issuer(folder: Path, now: float, asked: Connection) -> None:
    """Answer one request of one account as another process of the issuer; tell the status."""
    clocks = ClockGuard(wall=lambda: now, boot=lambda: now - 1000)
    clocks.heard(now)
    issuer = Issuer(
        SqliteStorage(folder / "issuer.sqlite", ISSUER_SCHEMA),
        task=small_task(),
        invitation_key=INVITATION_KEY,
        sign_key=ISSUER_SIGN,
        revoked=Revoked(folder / "revoked"),
        clocks=clocks,
    )
    asked.send(0)
    invitation, body = asked.recv()
    account = issuer.admit(invitation, WINDOW, len(body))
    try:
        told = account if isinstance(account, Problem) else issuer.answer(account, body)
    except StorageLost:
        asked.send(503)
    else:
        asked.send(told.status if isinstance(told, Problem) else 200)


@ONLY_SQLITE
@pytest.mark.parametrize("gone", [False, True])
def test_nobody_draws_twice_at_two_processes_after_the_index_of_the_log_was_removed(
    tmp_path: Path,
    gone: bool,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """The threats: "a second report: another device, another state, another name | the issuer
    answers 409"; the protocol: "The file is one database for all processes of I".

    Of a service that runs somebody removes `*-shm`, which the guide says is "made anew": a backup
    that leaves it out and is mirrored back, say. The next process of the service makes another.
    """
    world = IssuingWorld(tmp_path)
    world.open_window()
    if gone:
        (tmp_path / "issuer.sqlite-shm").unlink()
    here, there = get_context("spawn").Pipe()
    process = get_context("spawn").Process(target=another_issuer, args=(tmp_path, world.now, there))
    process.start()
    try:
        assert here.poll(20), "the other process did not start"
        here.recv()
        invitation = world.invitation()
        statuses = []
        with suppress(StorageLost):
            told = world.issuer.answer(world.account(invitation), request(world, 5))
            statuses.append(told.status if isinstance(told, Problem) else 200)
        here.send((invitation, request(world, 6)))
        assert here.poll(20)
        statuses.append(here.recv())
    finally:
        process.join(timeout=20)
    assert statuses.count(200) <= 1, "two draws of one account were signed"
    if not gone:
        assert statuses == [200, 409]
    world.close()


@ONLY_SQLITE
def test_a_check_sees_a_folder_in_the_place_of_the_ledger(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """The guide: "`serve check` says in words [...] whether the directory is fit: files, rights,
    keys, tables, ledger".

    A container whose volume names a file that is not there makes a folder; a start refuses it.
    """
    with ExitStack() as stack:
        parties = Parties(tmp_path, stack, windows=1)
        parties.round()
    assert not what_is_wrong(tmp_path / "analyzer").keys() - {"cards", "clock"}
    (ledger,) = (tmp_path / "analyzer").glob("ledger-*.db")
    ledger.unlink()
    ledger.mkdir(mode=0o700)
    with pytest.raises(LedgerError):
        AnalyzerParty.from_directory(tmp_path / "analyzer")
    assert "ledger" in what_is_wrong(tmp_path / "analyzer")


Party = type[AnalyzerParty] | type[ShufflerParty] | type[IssuerParty]


@ONLY_SQLITE
@pytest.mark.parametrize("seed", range(2))
def test_what_a_start_refuses_is_no_good_to_a_check(
    tmp_path: Path,
    seed: int,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """The guide: "`serve check` says in words [...] whether the directory is fit".

    Databases, lists and the files of a task are cut off, emptied, overwritten in a page, folders.
    """
    chance, refused = Random(seed), 0
    with ExitStack() as stack:
        parties = Parties(tmp_path / "whole", stack, windows=1)
        for _ in range(2):
            parties.round()
    roles: list[tuple[str, Party]] = [
        ("analyzer", AnalyzerParty),
        ("shuffler", ShufflerParty),
        ("issuer", IssuerParty),
    ]
    for i in range(24):
        role, party = roles[i % 3]
        directory = tmp_path / str(i) / role
        shutil.copytree(tmp_path / "whole" / role, directory)
        before = set(what_is_wrong(directory))
        file = chance.choice(
            [
                path
                for path in sorted(directory.iterdir())
                if path.name in ("task.json", "secrets.json") or path.suffix in (".sqlite", ".db")
            ]
        )
        is_ledger, data = file.name.startswith("ledger"), file.read_bytes()
        harms = ["cut", "zeros", "page", *([] if is_ledger else ["folder"])]
        harm = chance.choice(harms)
        if harm == "folder":
            file.unlink()
            file.mkdir(mode=0o700)
        else:
            at = chance.randrange(len(data)) // 4096 * 4096
            rest = b"" if harm == "cut" else data[at + 4096 :]
            new = {"cut": b"", "zeros": bytes(4096), "page": b"\xa5" * 4096}[harm]
            file.write_bytes(data[:at] + new + rest)
        try:
            party.from_directory(directory).close()
        except SmoothdpError:
            refused += 1
            assert set(what_is_wrong(directory)) - before, f"{role} {file.name} {harm}"
    assert refused > 8
