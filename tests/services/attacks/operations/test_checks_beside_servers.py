"""The guides followed literally: checks beside PostgreSQL, nginx as it is shipped, reloads."""

from __future__ import annotations

import asyncio
import os
import resource
import shutil
import socket
import sqlite3
import ssl
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager, suppress
from pathlib import Path
from random import Random

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from smoothdp.errors import InvalidData, SmoothdpError
from smoothdp.services.analyzer.analyzer_party import AnalyzerParty
from smoothdp.services.formats.party_files import revoke_tokens
from smoothdp.services.issuer.issuer_party import IssuerParty
from smoothdp.services.operations.health import certificate_condition, storage_condition
from smoothdp.services.operations.party_server import PartyServer, config_of
from smoothdp.services.operations.tls import Served
from smoothdp.services.shuffler.shuffler_party import ShufflerParty, issue_passes
from smoothdp.services.shuffler.shuffler_tables import SHUFFLER_SCHEMA
from smoothdp.services.store.erasable_keys import ErasableKeys
from smoothdp.services.store.party_storage import open_storage
from smoothdp.services.store.revoked import ids_of
from smoothdp.services.store.storage import StorageLost
from smoothdp.services.wire.running import on_loopback
from tests.services.operations.certificates import Authority
from tests.services.operations.served import free_port
from tests.services.storages import ONLY_SQLITE
from tests.services.worlds.checked import what_is_wrong
from tests.services.worlds.directories import party_directories
from tests.services.worlds.on_postgresql import on_postgresql, the_server
from tests.services.worlds.three_parties import Parties

DEPLOY = Path(__file__).parents[4] / "deploy"
KEYS = "shuffler.keys.sqlite"
OPENED = "INSERT INTO collecting (task_id, window, state, tag_key) VALUES (?, ?, ?, ?)"
REPORT = (
    "INSERT INTO pending (task_id, window, sender_tag, report_id, slots) VALUES (?, ?, ?, ?, ?)"
)


def flip_a_bit_of_an_id(file: Path) -> None:
    """Change a bit of the index by which the key of a sealed row is found."""
    with closing(sqlite3.connect(f"file:{file}?immutable=1", uri=True)) as opened:
        ((size,),) = opened.execute("PRAGMA page_size")
        query = "SELECT rootpage FROM sqlite_master WHERE name = 'sqlite_autoindex_data_key_2'"
        ((root,),) = opened.execute(query)
        name = bytes(opened.execute("SELECT id FROM data_key").fetchall()[-1][0])
    data, start = bytearray(file.read_bytes()), (root - 1) * size
    at = bytes(data).index(name, start, start + size)
    data[at + len(name) - 1] ^= 1
    file.write_bytes(data)


def cut(file: Path) -> None:
    """Leave the first half, as a move that broke off does."""
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])


def shuffler_on_postgresql(folder: Path) -> tuple[Path, bytes]:
    """Return the directory of a shuffler that names a database, and the task's name."""
    written = party_directories(folder)
    named = written.shuffler / "storage"
    named.write_text(the_server().schema_for(written.shuffler, "shuffler") + "\n")
    named.chmod(0o600)
    return written.shuffler, written.task.task_id


@on_postgresql
def test_a_check_sees_that_the_file_of_the_keys_of_rows_is_damaged(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """The guide: "`serve check` says in words [...] whether the directory is fit: files, rights,
    keys, tables"; of PostgreSQL: "That file is part of the state: without it the rows cannot be
    read".

    A bit of the index of `shuffler.keys.sqlite` is another one: acknowledged reports cannot be
    read any more, and the check says good. Of `gateway.sqlite` it says that it is damaged.
    """
    directory, task_id = shuffler_on_postgresql(tmp_path)
    state = open_storage(directory, "shuffler", SHUFFLER_SCHEMA)
    with state.transaction() as change:
        change.change(REPORT, (task_id, 7, b"s", b"r" * 16, b"slots"))
    assert state.read("SELECT slots FROM pending") == [(b"slots",)]
    state.close()
    before = what_is_wrong(directory)
    assert set(before) <= {"cards"}

    flip_a_bit_of_an_id(directory / KEYS)
    state = open_storage(directory, "shuffler", SHUFFLER_SCHEMA)
    with pytest.raises(InvalidData):
        state.read("SELECT slots FROM pending")
    state.close()
    assert what_is_wrong(directory) != before


@ONLY_SQLITE
@pytest.mark.parametrize("damage", [flip_a_bit_of_an_id, cut, lambda file: file.write_text("?")])
def test_a_check_sees_a_damaged_file_of_keys_where_the_address_is_given_at_the_start(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
    damage: Callable[[Path], object],
) -> None:
    """The guide of PostgreSQL gives the address at the start, `--storage postgresql://...`; of the
    check: "whether the directory is fit: files, rights, keys, tables".

    The database is not looked at then, and the check says so. The file of the keys of its rows
    is in the directory all the same, and whatever is in it is called good.
    """
    directory = party_directories(tmp_path).shuffler
    keys = ErasableKeys(directory / KEYS)
    for scope in (b"pending:7", b"collecting:7"):
        keys.seal(scope, b"slots")
    keys.close()
    assert what_is_wrong(directory) == {}
    damage(directory / KEYS)
    assert what_is_wrong(directory)


@contextmanager
def removed(file: Path) -> Iterator[None]:
    """The file and its log are moved away."""
    for path in file.parent.glob(f"{file.name}*"):
        path.rename(path.with_name(f"away-{path.name}"))
    yield


@contextmanager
def without_its_log(file: Path) -> Iterator[None]:
    """Somebody opened the file with another program, or tidied up."""
    for path in file.parent.glob(f"{file.name}-*"):
        path.unlink()
    yield


@on_postgresql
@pytest.mark.parametrize("happens", [removed, without_its_log])
def test_readiness_names_a_storage_whose_file_of_keys_is_gone(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
    happens: Callable[[Path], AbstractContextManager[None]],
) -> None:
    """The guide, of what `/readyz` names as "storage": "a file [...] that is not where it was, or
    whose log is not [...]: nothing more is stored".

    On PostgreSQL every report is refused then, for the file of the keys of rows, and the
    storage "answers, and takes what is stored".
    """
    directory, task_id = shuffler_on_postgresql(tmp_path)
    state = open_storage(directory, "shuffler", SHUFFLER_SCHEMA)
    try:
        with state.transaction() as change:
            change.change(OPENED, (task_id, 7, "OPEN", b"k" * 32))
            change.change(REPORT, (task_id, 7, b"s", b"r" * 16, b"slots"))
        assert storage_condition(state).good
        with happens(directory / KEYS):
            with pytest.raises(StorageLost), state.transaction() as change:
                change.change(REPORT, (task_id, 7, b"t", b"q" * 16, b"slots"))
            assert not storage_condition(state).good
    finally:
        state.close()


MARKS = 12 << 20
READERS = 4


@contextmanager
def behind_nginx(folder: Path, url: str) -> Iterator[tuple[int, int]]:
    """Run nginx with the file of `deploy/` before a shuffler at an address; yield port, process."""
    authority, port = Authority(folder, "client-ca"), free_port()
    for party in ("shuffler", "issuer", "analyzer"):
        authority.certificate(party)
    text = (DEPLOY / "nginx.conf").read_text().replace("/etc/smoothdp", str(folder))
    text = text.replace("127.0.0.1:8601", url.removeprefix("http://"))
    text = text.replace("listen [::]:443 ssl;", "")
    text = text.replace("listen 443 ssl;", f"listen 127.0.0.1:{port} ssl;")
    (folder / "nginx.conf").write_text(f"daemon off; pid {folder}/pid;\n{text}")
    command = ["nginx", "-c", str(folder / "nginx.conf"), "-p", str(folder)]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 20
        while True:
            with suppress(ConnectionRefusedError):
                socket.create_connection(("127.0.0.1", port)).close()
                break
            assert time.monotonic() < deadline
            time.sleep(0.05)
        yield port, process.pid
    finally:
        process.terminate()
        process.wait(timeout=30)


def bytes_in_removed_files(parent: int) -> int:
    """Return the bytes on disk that children of a process have open, under no name any more."""
    found = 0
    for status in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            if int(status.read_text().rpartition(")")[2].split()[1]) != parent:
                continue
            for file in (status.parent / "fd").iterdir():
                with suppress(OSError):
                    target = os.readlink(file)
                    if target.startswith("/") and target.endswith("(deleted)"):
                        found += file.stat().st_size
    return found


@pytest.mark.skipif(shutil.which("nginx") is None, reason="no nginx")
def test_behind_nginx_all_who_fetch_the_marks_share_one_copy(tmp_path: Path) -> None:
    """The guide: "An answer may be read for a minute, and a second for each 64 kB; all who fetch
    the marks of a window share one copy of them"; nginx is run "behind", with `deploy/nginx.conf`.

    nginx reads the whole file of marks from the shuffler, for each who asks, into a file of its
    own, and lets each read it as slowly as they like. 16 of each address, of 16 MB for a
    million slots, are on the disk at once; a disk that is full accepts nothing more.
    """
    marks = Random(26).randbytes(MARKS)

    async def shown(_: Request) -> Response:
        return Response(marks, media_type="application/vnd.esa.marks")

    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    with ExitStack() as stack:
        url = stack.enter_context(on_loopback(Starlette(routes=[Route("/marks", shown)])))
        port, parent = stack.enter_context(behind_nginx(tmp_path, url))
        for _ in range(READERS):
            slow = stack.enter_context(socket.socket())
            slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8192)
            slow.connect(("127.0.0.1", port))
            reader = context.wrap_socket(slow, server_hostname="shuffler.example")
            stack.callback(reader.close)
            reader.sendall(b"GET /marks HTTP/1.1\r\nHost: shuffler.example\r\n\r\n")
            assert reader.recv(512).startswith(b"HTTP/1.1 200")
        most, deadline = 0, time.monotonic() + 3
        while time.monotonic() < deadline and most <= MARKS:
            most = max(most, bytes_in_removed_files(parent))
            time.sleep(0.1)
    assert most <= MARKS


@contextmanager
def only_so_many_more_files(spare: int) -> Iterator[None]:
    """Let this process open so many more files: connections have taken all others."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    taken: list[int] = []
    top = max(int(name) for name in os.listdir("/proc/self/fd"))
    while not taken or taken[-1] <= top:
        taken.append(os.open(os.devnull, os.O_RDONLY))
    resource.setrlimit(resource.RLIMIT_NOFILE, (taken[-1] + 1 + spare, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        for handle in taken:
            os.close(handle)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("spare", [0, 1, 100])
def test_readiness_names_the_certificate_that_callers_see_also_after_a_reload_that_failed(
    tmp_path: Path, spare: int
) -> None:
    """The guide, of what `/readyz` names: "certificate: the one that callers see ends within a week
    [...]: renew it, then SIGHUP".

    The reload comes while connections have taken all files that the process may open but one. The
    new files are read, and nobody listens with them: callers see the old one, and `/readyz` says
    that the new one is good for a month. It is not said again when the old one has ended.
    """
    authority = Authority(tmp_path)
    certificate, key = authority.certificate("server", days=3)
    newer, newer_key = authority.certificate("newer", days=30)
    served = Served(certificate, key)

    async def seen(port: int) -> bytes:
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        _, writer = await asyncio.open_connection("127.0.0.1", port, ssl=context)
        found: bytes = writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
        writer.close()
        return found

    async def reload() -> tuple[bytes, bytes]:
        listener = socket.create_server(("127.0.0.1", 0))
        port = listener.getsockname()[1]
        config = config_of(Starlette(), "127.0.0.1", port)
        config.load()
        server = PartyServer(config, tls=served.context)
        server.lifespan = config.lifespan_class(config)
        await server.startup(sockets=[listener])
        before = await seen(port)
        shutil.copy(newer, certificate)
        shutil.copy(newer_key, key)
        with only_so_many_more_files(spare), suppress(OSError, SmoothdpError):
            await server.read_again()
        after = await seen(port)
        for one in server.servers:
            one.close()
        return before, after

    before, after = asyncio.run(reload())
    condition = certificate_condition(certificate, shown=served.shown)
    assert condition.good is (after != before), condition.says


PARTIES: dict[str, type[AnalyzerParty | ShufflerParty | IssuerParty]] = {
    "analyzer": AnalyzerParty,
    "shuffler": ShufflerParty,
    "issuer": IssuerParty,
}


@ONLY_SQLITE
def test_what_a_start_refuses_a_check_calls_wrong(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """The guide: "`serve check` says in words [...] whether the directory is fit", of each file of
    each party that is lost, empty, cut, something else, or that of another task's party.
    """
    for name in ("own", "other"):
        with ExitStack() as stack:
            parties = Parties(tmp_path / name, stack, now=time.time())
            for _ in range(2):
                parties.round()
    refused = 0
    for role, party in PARTIES.items():
        own, other = tmp_path / "own" / role, tmp_path / "other" / role
        files = [p.name for p in own.iterdir() if p.suffix in (".json", ".sqlite", ".db")]
        for file in files:
            for change in ("lost", "empty", "cut", "another", "of another task"):
                copy = tmp_path / "copy" / role
                shutil.copytree(own, copy)
                path = copy / file
                data = {
                    "empty": b"",
                    "cut": path.read_bytes()[: path.stat().st_size // 2],
                    "another": b"x" * 100,
                    "of another task": b"",
                }
                if change == "of another task" and (other / file).exists():
                    data[change] = (other / file).read_bytes()
                path.unlink()
                if change in data:
                    path.write_bytes(data[change])
                    path.chmod(0o600)
                wrong = what_is_wrong(copy)
                try:
                    party.from_directory(copy).close()
                except SmoothdpError:
                    refused += 1
                    assert wrong, f"{role}: {file} is {change}"
                shutil.rmtree(copy.parent)
    assert refused > 20


def test_two_who_revoke_at_once_lose_no_id_of_each_other(tmp_path: Path) -> None:
    """The guide: "`smoothdp task revoke` may be run by root or by the service's user"; "Revoked is
    revoked", also of two operators at once, one of whom finds no room on the disk.
    """
    directory = party_directories(tmp_path).shuffler
    passes = issue_passes(directory, 60)
    children = []
    for half in (passes[:30], passes[30:]):
        child = os.fork()
        if not child:
            status = 1
            with suppress(BaseException):
                for one in half:
                    revoke_tokens(directory, [one])
                status = 0
            os._exit(status)
        children.append(child)
    assert [os.waitpid(child, 0)[1] for child in children] == [0, 0]
    size = (directory / "revoked").stat().st_size
    more = issue_passes(directory, 40)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size + 50, hard))
    try:
        with pytest.raises(OSError, match="large"):
            revoke_tokens(directory, more)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert ids_of(directory / "revoked") == {bytes.fromhex(one[:32]) for one in passes}
