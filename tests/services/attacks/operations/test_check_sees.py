"""What a check of a directory finds: files that are damaged, older, lost or another's."""

from __future__ import annotations

import contextlib
import shutil
import sqlite3
from contextlib import ExitStack, closing
from pathlib import Path

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from smoothdp.errors import InvalidData, SmoothdpError
from smoothdp.services import check
from smoothdp.services.analyzer.analyzer_party import AnalyzerParty
from smoothdp.services.check import check_party
from smoothdp.services.formats.party_files import revoke_tokens
from smoothdp.services.issuer.issuer_party import IssuerParty
from smoothdp.services.shuffler.shuffler_party import ShufflerParty, issue_passes
from smoothdp.services.wire.running import on_loopback
from tests.services.storages import ONLY_SQLITE
from tests.services.worlds.checked import what_is_wrong
from tests.services.worlds.directories import party_directories
from tests.services.worlds.older_copies import copy_of, put_in_place
from tests.services.worlds.postgres_server import PostgresServer
from tests.services.worlds.three_parties import HOUR, Parties


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
def test_a_check_sees_a_ledger_of_another_task(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """The guide: "`serve check` says [...] whether the directory is fit: files, [...] ledger".

    A copy of another task's ledger was put in the place of this one's; a start refuses it.
    """
    ledgers = []
    for windows in (20, 40):
        directory = party_directories(tmp_path / str(windows), windows=windows).analyzer
        party = AnalyzerParty.from_directory(directory)
        ledgers.append(party.analyzer.ledger.path)
        party.close()
    assert "ledger" not in what_is_wrong(ledgers[0].parent)
    for left in ledgers[0].parent.glob("ledger-*"):
        left.unlink()
    with closing(sqlite3.connect(ledgers[1])) as source, closing(sqlite3.connect(ledgers[0])) as to:
        source.backup(to)
    ledgers[0].chmod(0o600)
    with pytest.raises(SmoothdpError, match="budget"):
        AnalyzerParty.from_directory(ledgers[0].parent)
    found = what_is_wrong(ledgers[0].parent)["ledger"]
    assert str(ledgers[0]) in found
    assert "budget" in found


@ONLY_SQLITE
def test_a_check_says_in_words_that_a_ledger_is_damaged(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """The guide: "`serve check` says in words whether the directory is fit", the ledger among it.

    The first page of the ledger, which names its tables, is damaged: the text in it is none.
    """
    with ExitStack() as stack:
        Parties(tmp_path, stack).round()
    (ledger,) = (tmp_path / "analyzer").glob("ledger-*.db")
    data = bytearray(ledger.read_bytes())
    data[4000:4096] = bytes(byte ^ 0xFF for byte in data[4000:4096])
    ledger.write_bytes(data)
    wrong = [found.name for found in check_party(tmp_path / "analyzer") if not found.good]
    assert "ledger" in wrong
    with pytest.raises(SmoothdpError):
        AnalyzerParty.from_directory(tmp_path / "analyzer")


@ONLY_SQLITE
@pytest.mark.parametrize("role", ["analyzer", "shuffler"])
def test_a_check_sees_a_damaged_file_of_window_keys(
    tmp_path: Path,
    role: str,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """The guide: "`serve check` says [...] whether the directory is fit: files, rights, keys"."""
    written = party_directories(tmp_path / "t")
    directory: Path = getattr(written, role)
    kind: type[AnalyzerParty | ShufflerParty] = (
        AnalyzerParty if role == "analyzer" else ShufflerParty
    )
    kind.from_directory(directory).close()
    assert "keys" not in what_is_wrong(directory)
    (path,) = (p for p in directory.glob("*.sqlite") if p.stem in ("inner", "gateway"))
    data = path.read_bytes()
    path.write_bytes(data[:4096] + b"\xff" * 4096 + data[8192:])
    with pytest.raises(InvalidData, match="malformed"):
        kind.from_directory(directory)
    assert "damaged" in what_is_wrong(directory)["keys"]


@ONLY_SQLITE
@pytest.mark.parametrize("file", ["no database", "of another task"])
def test_a_check_sees_a_file_of_window_keys_that_the_start_refuses(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
    file: str,
) -> None:
    """The guide: "`serve check` says in words whether the directory is fit: files, rights, keys,
    tables", and "its status is 1 if something is wrong".

    The file of the shuffler's window keys is damaged; or it is another task's, left in the
    directory when its database went.
    """
    for task in ("one", "other"):
        with ExitStack() as stack:
            (tmp_path / task).mkdir()
            Parties(tmp_path / task, stack).round()
    directory = tmp_path / "one" / "shuffler"
    keys = directory / "gateway.sqlite"
    if file == "no database":
        keys.write_bytes(b"no database" * 1000)
    else:
        shutil.copy(tmp_path / "other" / "shuffler" / "gateway.sqlite", keys)
        (directory / "shuffler.sqlite").unlink()
    with pytest.raises(InvalidData):
        ShufflerParty.from_directory(directory)
    wrong = [found.name for found in check_party(directory) if not found.good]
    # The cards are of a time that is over, in any case.
    assert set(wrong) - {"cards"}


@ONLY_SQLITE
def test_a_check_sees_the_database_of_another_party(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """The guide: "`serve check` says [...] whether the directory is fit: [...] tables".

    The issuer's file was put in the place of the shuffler's; it has a number of tables too. The
    check was content; the start said "no such table", in no words of what to do.
    """
    written = party_directories(tmp_path / "t")
    IssuerParty.from_directory(written.issuer).close()
    ShufflerParty.from_directory(written.shuffler).close()
    (written.shuffler / "shuffler.sqlite").write_bytes(
        (written.issuer / "issuer.sqlite").read_bytes()
    )
    assert "another party's" in what_is_wrong(written.shuffler)["storage"]
    with pytest.raises(InvalidData, match="another party's"):
        ShufflerParty.from_directory(written.shuffler)


@pytest.mark.parametrize("party", ["analyzer", "shuffler", "issuer"])
@ONLY_SQLITE
def test_a_check_sees_a_folder_in_the_place_of_the_database(
    tmp_path: Path,
    party: str,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """The guide: "`serve check` says in words whether the directory is fit", the tables among it:
    the start refuses a folder in the place of the database.
    """
    with ExitStack() as stack:
        Parties(tmp_path, stack).round()
    path = tmp_path / party / f"{party}.sqlite"
    path.unlink()
    path.mkdir(mode=0o700)
    wrong = [found.name for found in check_party(tmp_path / party) if not found.good]
    # The cards and the clock are of another time in any case.
    assert set(wrong) - {"cards", "clock"}


@ONLY_SQLITE
def test_a_check_says_in_words_that_the_storage_is_named_by_no_text(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """The guide: "`serve check` says in words whether the directory is fit"; the line in the file
    `storage` is no UTF-8.
    """
    with ExitStack() as stack:
        Parties(tmp_path, stack).round()
    path = tmp_path / "analyzer" / "storage"
    path.write_bytes(b"postgresql://\xff\xfe")
    path.chmod(0o600)
    assert any(not found.good for found in check_party(tmp_path / "analyzer"))


@ONLY_SQLITE
@pytest.mark.slow
def test_a_short_list_of_the_revoked_is_said_of_a_party_on_postgresql_too(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
    postgres_server: PostgresServer,
) -> None:
    """The guide, of a list that is lost or emptied: "the log and `serve check` say so"."""
    directory = party_directories(tmp_path).shuffler
    (directory / "storage").write_text(postgres_server.schema_for(directory, "shuffler"))
    (directory / "storage").chmod(0o600)
    (secret,) = issue_passes(directory, 1)
    assert revoke_tokens(directory, [secret]) == 1
    party = ShufflerParty.from_directory(directory)
    (directory / "revoked").unlink()
    party.revoked.remember()
    assert party.shuffler.sender(secret) is None
    said = {one.name: one for one in check.check_party(directory)}["revoked"]
    party.close()
    assert not said.good, said.says


@ONLY_SQLITE
@pytest.mark.slow
def test_lost_keys_of_windows_are_said_of_a_party_on_postgresql_too(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
    postgres_server: PostgresServer,
) -> None:
    """The guide: `serve check` says whether the directory is fit, "keys" among it."""
    made = party_directories(tmp_path, has_issuer=False, issuer_url="")
    directory = made.shuffler
    (directory / "storage").write_text(postgres_server.schema_for(directory, "shuffler"))
    (directory / "storage").chmod(0o600)
    analyzer = AnalyzerParty.from_directory(made.analyzer)
    party = ShufflerParty.from_directory(directory)
    with on_loopback(analyzer.app(work_seconds=3600)) as url:
        party.work(url)
    assert party._cards_to_come()
    party.close()
    for path in directory.glob("gateway.sqlite*"):
        path.unlink()
    party = ShufflerParty.from_directory(directory)
    assert party.shuffler.cards.lost()
    said = {one.name: one for one in check.check_party(directory)}["keys"]
    for opened in (party, analyzer):
        opened.close()
    assert not said.good, said.says


@pytest.mark.parametrize("who", ["a proxy before nobody", "itself"])
def test_a_check_of_an_analyser_says_whether_the_other_party_answers(
    tmp_path: Path, who: str
) -> None:
    """The guide: "with `--peer` whether the other party answers".

    The shuffler does not run, and the proxy that the guide puts before it answers 502; or the
    address is the analyser's own.
    """
    written = party_directories(tmp_path / "t")

    def nobody(_: Request) -> Response:
        return PlainTextResponse("Bad Gateway", 502)

    with ExitStack() as stack:
        app = Starlette(routes=[Route("/{path:path}", nobody)])
        if who == "itself":
            party = AnalyzerParty.from_directory(written.analyzer)
            stack.callback(party.close)
            app = party.app(work_seconds=3600)
        url = stack.enter_context(on_loopback(app))
        found = {one.name: one for one in check_party(written.analyzer, peer=url)}
    assert not found["peer"].good, found["peer"].says


def test_a_check_sees_that_others_may_write_who_the_callers_are(tmp_path: Path) -> None:
    """The guide: "`serve check` says [...] whether the directory is fit: files, rights".

    `callers.json` says whom the analyser takes for the shuffler, and for the collectors. It is a
    link to where everybody may write.
    """
    directory = party_directories(tmp_path / "t").analyzer
    shared = tmp_path / "shared.json"
    (directory / "callers.json").rename(shared)
    shared.chmod(0o666)
    (directory / "callers.json").symlink_to(shared)
    assert "rights" in what_is_wrong(directory)
