"""Directories and settings that a party starts on, or refuses in words that repeat no secret."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from contextlib import ExitStack, closing
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from smoothdp.cli.serving.serve import serve
from smoothdp.cli.serving.task import task as task_command
from smoothdp.errors import InvalidData
from smoothdp.services.analyzer.analyzer_party import AnalyzerParty
from smoothdp.services.check import check_party
from smoothdp.services.formats.design.agreeing import agree_on_one_host
from smoothdp.services.formats.party_files import PARTIES
from smoothdp.services.issuer.issuer_party import IssuerParty
from smoothdp.services.shuffler.shuffler_party import ShufflerParty
from smoothdp.services.store.storage import SqliteStorage
from smoothdp.services.wire.key_files import SECRETS_FILE
from tests.services.storages import ON_BOTH_STORAGES, ONLY_SQLITE
from tests.services.worlds.directories import party_directories
from tests.services.worlds.three_parties import Parties


@ONLY_SQLITE
@pytest.mark.parametrize("name", ["a?mode=memory", "b#c", "100%41", "ünï", "new\nline", b"bad\xff"])
def test_a_party_moves_to_a_directory_of_any_name(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
    name: str | bytes,
) -> None:
    written = party_directories(tmp_path / "before")
    directory = written.analyzer.rename(tmp_path / os.fsdecode(name))
    party = AnalyzerParty.from_directory(directory)
    party.analyzer.ledger.charge(7)
    party.close()
    (ledger,) = (one for one in check_party(directory) if one.name == "ledger")
    assert ledger.says == "whole; windows charged: 1"
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([directory.name, "before"])


@ONLY_SQLITE
def test_a_directory_with_windows_of_another_task_is_refused(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """The budget is spent, a new task is made of the same halves and copied into the directories.

    Nothing refused that. What each party had of the windows of the first task that were not over
    was never closed, and the check of the directory found it good.
    """
    with ExitStack() as stack:
        parties = Parties(tmp_path, stack)
        for _ in range(2):
            parties.round()
        another = replace(parties.task, min_batch=parties.task.min_batch + 1)
        for party in PARTIES:
            (tmp_path / party / "task.json").write_bytes(another.encoded)
        for opened in (AnalyzerParty, ShufflerParty, IssuerParty):
            folder = tmp_path / opened.__name__.removesuffix("Party").lower()
            with pytest.raises(InvalidData, match="windows of another task"):
                opened.from_directory(folder)
            keys = {one.name: one for one in check_party(folder)}["keys"]
            assert not keys.good
            assert "windows of another task" in keys.says


@ONLY_SQLITE
def test_a_disk_that_takes_nothing_is_no_reason_for_another_path(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """Beside a state that is there, its log cannot be opened: SQLite calls that an I/O error."""
    resource = pytest.importorskip("resource")
    path, schema = tmp_path / "gateway.sqlite", "CREATE TABLE IF NOT EXISTS box (item TEXT);"
    SqliteStorage(path, schema).close()
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, limits[1]))
    try:
        with pytest.raises(InvalidData) as refused:
            SqliteStorage(path, schema)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert "disk I/O error" in str(refused.value)
    assert "Make room on the disk" in str(refused.value)
    assert "another path" not in str(refused.value)


@ONLY_SQLITE
def test_a_file_that_is_held_is_not_to_be_left_for_another_one(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """Another path has no state: whoever followed that advice would begin anew."""
    path = tmp_path / "gateway.sqlite"
    SqliteStorage(path, "CREATE TABLE IF NOT EXISTS box (item TEXT);").close()
    with closing(sqlite3.connect(path, isolation_level=None)) as holder:
        holder.execute("BEGIN EXCLUSIVE")
        with pytest.raises(InvalidData, match="See which process holds it") as refused:
            SqliteStorage(path, "CREATE TABLE IF NOT EXISTS box (item TEXT);", busy_seconds=0.0)
    assert "another path" not in str(refused.value)


def test_a_state_that_may_not_be_read_is_no_reason_for_another_path(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """At another path the service would begin anew, with none of what was acknowledged."""
    path, schema = tmp_path / "shuffler.sqlite", "CREATE TABLE IF NOT EXISTS box (item TEXT);"
    SqliteStorage(path, schema).close()
    path.chmod(0o000)
    me = os.geteuid()
    if me == 0:
        os.seteuid(65534)
    try:
        with pytest.raises(InvalidData) as refused:
            SqliteStorage(path, schema)
    finally:
        if me == 0:
            os.seteuid(me)
    assert "another path" not in str(refused.value)
    assert "the state is here" in str(refused.value)


@ON_BOTH_STORAGES
@pytest.mark.parametrize("address", ["http://[::1", "https://a:b", "https://h:99999999"])
def test_an_address_of_the_issuer_that_is_none_is_refused_in_words(
    tmp_path: Path, address: str
) -> None:
    """A traceback, or a task whose issuer no client can ever ask."""
    done = CliRunner().invoke(
        task_command,
        f"create {tmp_path / 'task'} --protocol boolean-sum --epsilon 1 --delta 1e-6 "
        f"--min-batch 300 --one-host --origin a.example --issuer-url {address}".split(),
    )
    assert done.exit_code != 0
    assert "Traceback" not in done.output
    assert isinstance(done.exception, SystemExit), repr(done.exception)


@ON_BOTH_STORAGES
@pytest.mark.parametrize(
    "address", ["postgresql://u:SEC%RET@host/db", "postgresql://u:SECRET@[::1/db"]
)
def test_a_password_in_an_address_that_is_none_is_not_repeated(
    tmp_path: Path, address: str
) -> None:
    """A password with a sign that an address wants written otherwise is printed with it."""
    pytest.importorskip("psycopg")
    shuffler = party_directories(tmp_path / "t").shuffler
    for file in shuffler.glob("*.sqlite*"):
        file.unlink()
    (shuffler / "storage").write_text(address)
    done = CliRunner().invoke(serve, ["check", str(shuffler)])
    assert "WRONG" in done.output
    assert "SEC" not in done.output


def test_a_password_in_a_line_of_the_configuration_is_not_repeated(tmp_path: Path) -> None:
    config = tmp_path / "issuer.toml"
    config.write_text('directory = "issuer"\nstorage = "postgresql://us:secret@db/x"\n')
    result = CliRunner().invoke(serve, ["issuer", "--config", str(config)])
    assert result.exit_code == 2
    assert "got storage. Correct that line" in " ".join(result.output.split())
    assert "secret" not in result.output


def test_a_task_for_one_host_beside_keys_that_are_there_changes_nothing(tmp_path: Path) -> None:
    """The reference: `--one-host` "makes the keys of all parties here". One had some already."""
    fields = {"epsilon": "4", "delta": "0.01", "min_batch": 12}
    where = {"issuer_url": "https://issuer.example", "origin": "analyzer.example"}
    (tmp_path / "shuffler").mkdir(mode=0o700)
    (tmp_path / "shuffler" / SECRETS_FILE).write_text("{}")
    with pytest.raises(InvalidData, match="exists"):
        agree_on_one_host(tmp_path, "boolean_sum", **fields, **where)  # type: ignore[arg-type]
    files = [path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*")]
    assert sorted(files) == ["shuffler", f"shuffler/{SECRETS_FILE}"]
    assert (tmp_path / "shuffler" / SECRETS_FILE).read_text() == "{}"


def test_keys_for_which_there_is_no_room_are_not_made_by_half(tmp_path: Path) -> None:
    """The reference, of `task keys`: "A party's keys, made on its own host"; again with room."""
    program = (
        "import resource, sys, pathlib\n"
        "from smoothdp.services.formats.party_files import make_keys\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (200, 200))\n"
        "make_keys('shuffler', pathlib.Path(sys.argv[1]))\n"
    )
    place = tmp_path / "new" / "shuffler"
    ended = subprocess.run(
        [sys.executable, "-c", program, str(place)], capture_output=True, check=False
    )
    assert ended.returncode == 1
    assert b"File too large" in ended.stderr
    assert not place.parent.exists()
