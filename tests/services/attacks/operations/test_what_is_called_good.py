"""The guides followed literally: what is said to be good, and what strangers may send at once."""

from __future__ import annotations

import hashlib
import os
import shutil
import socket
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest
from click.testing import CliRunner

from smoothdp.cli.serving.serve import serve
from smoothdp.errors import InvalidData, SmoothdpError
from smoothdp.services.check import check_party
from smoothdp.services.formats import party_files
from smoothdp.services.formats.secrets import Secret
from smoothdp.services.issuer.issuer_party import IssuerParty, issue_invitations
from smoothdp.services.operations.admin import Operations
from smoothdp.services.operations.health import Condition, storage_condition
from smoothdp.services.shuffler.shuffler_tables import SHUFFLER_SCHEMA
from smoothdp.services.store.postgres import PostgresStorage
from smoothdp.services.store.revoked import Revoked
from smoothdp.services.store.storage import StorageUnreachable
from smoothdp.services.wire.key_files import SECRETS_FILE, write_secret
from smoothdp.services.wire.running import on_loopback
from tests.services.operations.served import serving
from tests.services.storages import ONLY_SQLITE, open_state
from tests.services.worlds.directories import party_directories
from tests.services.worlds.on_postgresql import on_postgresql, the_server
from tests.services.worlds.three_parties import WINDOW, Parties

resource = pytest.importorskip("resource")
ROLES = ("shuffler", "issuer", "analyzer")


@contextmanager
def nothing_written() -> Iterator[None]:
    """Let no file take a byte, as a quota that is used up, or a disk that answers with errors.

    The free room that the file system tells of is what it was.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def _wrong(operations: Operations) -> list[str]:
    return [name for name, check in operations.checks.items() if not check().good]


def _round(parties: Parties, role: str, operations: Operations) -> None:
    """Let one party work once, and note what became of it as the service does."""
    try:
        if role == "analyzer":
            parties.analyzer.work()
        else:
            getattr(parties, role).work(parties.url)
        operations.rounds.good()
    except Exception as error:
        operations.failed(error)


def _tokens(
    stack: ExitStack, parties: Parties, issuer: IssuerParty, invitation: str, *, drawn: int
) -> int:
    """Ask an issuer for a token of the present window; return the status."""
    url = stack.enter_context(on_loopback(issuer.app(parties.url, work_seconds=3600)))
    return _ask_for_tokens(url, parties, issuer, invitation, drawn=drawn)


def _ask_for_tokens(
    url: str, parties: Parties, issuer: IssuerParty, invitation: str, *, drawn: int
) -> int:
    statement = "SELECT spki FROM window_key WHERE window = ?"
    ((spki,),) = issuer.issuer.storage.read(statement, (WINDOW,))
    last = hashlib.sha256(bytes(spki)).digest()[-1:]
    return httpx.post(
        f"{url}/v2/tokens/{parties.task.task_id.hex()}/{WINDOW}",
        content=b"\x00\x02" + last + drawn.to_bytes(256, "big"),
        headers={"authorization": f"Bearer {invitation}"},
    ).status_code


KEYS = {
    "shuffler": ("gateway.sqlite", "SELECT secret FROM data_key"),
    "analyzer": ("inner.sqlite", "SELECT secret FROM data_key"),
    "issuer": ("issuer.sqlite", "SELECT secret FROM window_key WHERE secret IS NOT NULL"),
}


def _remove_log(directory: Path, name: str) -> None:
    """Remove the log of a file, which is empty between two rounds, as who tidies up does."""
    log = directory / f"{name}-wal"
    assert log.stat().st_size == 0
    log.unlink()


@ONLY_SQLITE
@pytest.mark.parametrize("role", ROLES)
def test_no_key_is_said_to_be_erased_that_is_not(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
    role: str,
) -> None:
    """The protocol, 2: a window's key is destroyed at its end; "Erased means overwritten, in the
    file and in its log". The guide, of `/readyz`: "storage: [...] a file [...] that is not where
    it was".

    The empty log beside the file of the keys is removed while the party runs. What it commits goes
    to a log that has no name any more, and is never brought into the file: there the keys stay, of
    all windows from then on. Each round is good, and so are all conditions.
    """
    name, statement = KEYS[role]
    with ExitStack() as stack:
        parties = Parties(tmp_path, stack, windows=60)
        for _ in range(3):
            parties.round()
        party: Any = getattr(parties, role)
        operations = party._operations(10.0)
        storage = party.issuer.storage if role == "issuer" else party.keys._storage

        def secrets() -> set[bytes]:
            return {bytes(secret) for (secret,) in storage.read(statement)}

        before = secrets()
        _remove_log(tmp_path / role, name)
        parties.now += 9 * 86_400
        for _ in range(3):
            with suppress(SmoothdpError, OSError):
                parties.round()
        _round(parties, role, operations)
        wrong, gone = _wrong(operations), before - secrets()
        kept = [secret for secret in gone if secret in (tmp_path / role / name).read_bytes()]
    assert len(before) > 1
    assert wrong or not kept, f"{len(kept)} of {len(gone)} keys that were erased are in {name}"


@ONLY_SQLITE
def test_nobody_draws_twice_after_the_log_was_removed(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """The threat model: "a second report: another device, another state [...]: the issuer answers
    409"; the protocol, 6: "Commit before signing"; the guide: "what was acknowledged is on disk".

    The empty log beside the issuer's file is removed while it runs; it goes on, and says that all
    is well. Whoever asks for tokens from then on is forgotten when it is killed, gets tokens for
    another draw, and is not counted.
    """
    with ExitStack() as stack:
        parties = Parties(tmp_path, stack, windows=60)
        for _ in range(3):
            parties.round()
        invitation = issue_invitations(tmp_path / "issuer", 1)[0]
        _remove_log(tmp_path / "issuer", "issuer.sqlite")
        operations = parties.issuer._operations(10.0)
        first = _tokens(stack, parties, parties.issuer, invitation, drawn=3)
        again = _tokens(stack, parties, parties.issuer, invitation, drawn=5)
        _round(parties, "issuer", operations)
        wrong = _wrong(operations)
        # What is on the disk under its names, when the process is killed.
        shutil.copytree(tmp_path / "issuer", tmp_path / "killed")
        issuer = IssuerParty.from_directory(tmp_path / "killed", clocks=parties.clocks())
        stack.callback(issuer.close)
        issuer.work(parties.url)
        after = _tokens(stack, parties, issuer, invitation, drawn=5)
    assert first == 503 or again == 409
    assert first == 503 or after == 409, f"another draw: {after}; named before: {wrong}"


@ONLY_SQLITE
@pytest.mark.parametrize("role", ROLES)
def test_a_party_that_can_store_nothing_is_not_ready(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
    role: str,
) -> None:
    """The guide: `/readyz` answers "200, or 503 and the names of what is wrong"; of "storage": "no
    answer within 2 seconds, or an error".

    Every commit fails with "disk I/O error", for good; all conditions are said to be good.
    """
    with ExitStack() as stack:
        parties = Parties(tmp_path, stack, windows=60)
        for _ in range(3):
            parties.round()
        party: Any = getattr(parties, role)
        operations, storage = party._operations(10.0), getattr(party, role).storage
        _round(parties, role, operations)
        before, failures = _wrong(operations), []
        with nothing_written():
            for _ in range(3):
                try:
                    with storage.transaction() as change:
                        change.change("CREATE TABLE anything (item)")
                except Exception as error:
                    failures.append(str(error))
                _round(parties, role, operations)
            wrong = _wrong(operations)
    assert before == []
    assert len(failures) == 3
    assert wrong, failures


@ONLY_SQLITE
def test_an_issuer_that_answers_everybody_503_is_not_ready(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The guide: `/readyz` answers "200, or 503 and the names of what is wrong", and the log has
    "disk | full, or broken": over HTTP, with a good invitation; neither says anything.
    """
    with ExitStack() as stack:
        parties = Parties(tmp_path, stack, windows=60)
        for _ in range(3):
            parties.round()
        app = parties.issuer.app(parties.url, work_seconds=3600)
        url = stack.enter_context(on_loopback(app))
        operations: Operations = app.state.operations
        invitation = issue_invitations(tmp_path / "issuer", 1)[0]

        def ask() -> int:
            return _ask_for_tokens(url, parties, parties.issuer, invitation, drawn=3)

        caplog.clear()
        with nothing_written():
            refused = [ask() for _ in range(3)]
            _round(parties, "issuer", operations)
            wrong = _wrong(operations)
        logged = [record.getMessage() for record in caplog.records if record.name != "httpx"]
        given = ask()
    assert (refused, given) == ([503] * 3, 200)
    assert wrong, f"all is well; in the log: {logged}"


@on_postgresql
def test_a_party_whose_server_takes_no_changes_is_not_ready(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """The guide to PostgreSQL: "A server that is away: requests are answered 503, `/readyz` says
    so".

    A server that is only read, as a standby, or one that is to be one, refuses whatever a request
    wants to store: 503. What is asked for `/readyz`, and what a round does where nothing is due,
    only reads.
    """
    storage = open_state(tmp_path, "shuffler", SHUFFLER_SCHEMA)
    assert isinstance(storage, PostgresStorage)
    revoked = Revoked(tmp_path / "revoked", storage, bytes(32))
    assert storage_condition(storage).good
    with psycopg.connect(the_server().address(), autocommit=True) as connection:
        connection.execute("ALTER ROLE CURRENT_USER SET default_transaction_read_only = on")
    try:
        for line in (storage._writing, storage._adding, storage._reading):
            line.close()
        with pytest.raises(StorageUnreachable, match="only read"), storage.adding() as change:
            change.change("DELETE FROM pending WHERE task_id = ?", (bytes(32),))
        with suppress(SmoothdpError):
            revoked.remember()
            storage.forget()
        condition: Condition | None = None
        with suppress(SmoothdpError):
            condition = storage_condition(storage)
    finally:
        with psycopg.connect(the_server().address(), autocommit=True) as connection:
            connection.execute("SET default_transaction_read_only TO off")
            connection.execute("ALTER ROLE CURRENT_USER RESET ALL")
        storage.close()
    assert condition is None or not condition.good, condition.says


@ONLY_SQLITE
@pytest.mark.parametrize("role", ["shuffler", "analyzer"])
def test_a_check_says_that_a_database_was_left_behind(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
    role: str,
) -> None:
    """The guide: "`serve check` says in words [...] whether the directory is fit: files, rights,
    keys, tables"; "move its whole directory".

    The database was left behind in a move. The file of window keys, which is there, has a key of
    each window with a card; the check says of the database "none yet", and that all is good.
    """
    with ExitStack() as stack:
        parties = Parties(tmp_path, stack, windows=60, now=time.time())
        for _ in range(3):
            parties.round()
        party: Any = getattr(parties, role)
        kept = party.keys.scopes()
        party.close()
        directory = tmp_path / role
        there = [found.name for found in check_party(directory) if not found.good]
        for path in directory.glob(f"{role}.sqlite*"):
            path.unlink()
        found = check_party(directory)
    assert len(kept) > 1
    assert there == []
    assert any(not one.good for one in found), [one.says for one in found]


@ONLY_SQLITE
def test_many_requests_at_once_on_a_connection_cost_little(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """The guide, of strangers: a connection has "64 kB of headers"; "256 connections an address".

    On 48 of these 256 come 64 kB each, of short requests one behind the other, none of which waits
    for an answer. Of them all together no more should be kept than a budget of bodies is, 64 MB.
    """
    request = b"GET / HTTP/1.1\r\n\r\n"
    with ExitStack() as stack:
        written = party_directories(tmp_path / "t")
        more = ("--analyzer", "http://127.0.0.1:1")
        party = stack.enter_context(serving("shuffler", written.shuffler, *more))
        if not Path(f"/proc/{party.process.pid}/status").exists():
            pytest.skip("no /proc")
        before = party.memory()
        for _ in range(48):
            stranger = stack.enter_context(socket.create_connection(("127.0.0.1", party.port)))
            with suppress(OSError):
                stranger.sendall(request * ((1 << 16) // len(request)))
        time.sleep(1.0)
        assert party.ask("/livez", timeout=60).text == "ok"
        grown = party.peak() - before
    assert grown < 64 << 20, f"{grown >> 20} MB"


def test_keys_that_were_made_stay_when_another_command_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The command line: "A party's keys, made on its own host"; the protocol: they are destroyed
    "with the task".

    The command runs twice at once. One has made the keys, has said so, and ended well; the other
    one then finds them, is refused, and takes them away: what was handed to whoever makes the
    task has no private half any more.
    """
    directory, made = tmp_path / "shuffler", []

    def beside(path: Path, document: dict[str, Any]) -> None:
        monkeypatch.setattr(party_files, "write_secret", write_secret)
        with ThreadPoolExecutor(1) as another:
            made.append(another.submit(party_files.make_keys, "shuffler", directory).result())
        write_secret(path, document)

    monkeypatch.setattr(party_files, "write_secret", beside)
    with pytest.raises(InvalidData):
        party_files.make_keys("shuffler", directory)
    assert (directory / SECRETS_FILE).is_file()
    assert party_files.read_half(directory) == made[0]


@pytest.mark.parametrize("value", ["false", '"false"', '"no"', "0", "0.5", "2026-01-01"])
def test_a_switch_that_is_off_in_the_configuration_is_off(tmp_path: Path, value: str) -> None:
    """The command line: "elsewhere than on loopback they want `--certificate` and
    `--certificate-key`, or `--behind-tls`".
    """
    party_directories(tmp_path / "t")
    config = tmp_path / "analyzer.toml"
    config.write_text(f'directory = "t/analyzer"\nhost = "0.0.0.0"\nbehind-tls = {value}\n')
    found = CliRunner().invoke(serve, ["analyzer", "--config", str(config), "--port", "0"])
    assert found.exit_code != 0
    said = str(found.output) + str(found.exception)
    assert "certificate" in said or "behind-tls" in said


@ONLY_SQLITE
def test_what_is_damaged_or_of_another_party_is_found_by_the_check(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """The guide: "`serve check` says in words [...] whether the directory is fit"."""
    written = {name: party_directories(tmp_path / name) for name in ("a", "b")}
    for party in ROLES:
        directory: Path = getattr(written["a"], party)
        other: Path = getattr(written["b"], party)
        for name in ("task.json", "secrets.json"):
            whole = (directory / name).read_bytes()
            rights = (directory / name).stat().st_mode
            for bad in (b"", whole[: len(whole) // 2], os.urandom(99), (other / name).read_bytes()):
                (directory / name).write_bytes(bad)
                assert not all(found.good for found in check_party(directory)), (party, name)
            (directory / name).write_bytes(whole)
            (directory / name).chmod(rights)
        assert all(found.good for found in check_party(directory)), party


def test_a_secret_of_another_use_revokes_nobody(tmp_path: Path) -> None:
    """The command line: "Passes or invitations that count no more, one a line, in the directory of
    the party that made them"; of a list with another one among them none is revoked.
    """
    written = party_directories(tmp_path / "t")
    (mine,) = issue_invitations(written.issuer, 1)
    others = Secret.issue(b"k" * 32, use="invitation", task_id=written.task.task_id).text
    with pytest.raises(InvalidData):
        party_files.revoke_tokens(written.issuer, [mine, others])
    with pytest.raises(InvalidData):
        party_files.revoke_tokens(written.shuffler, [mine])
    assert not (written.issuer / "revoked").exists()
    assert not (written.shuffler / "revoked").exists()
