"""A fourteenth round, on a party that is looked at: what was said to be good, and is not."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from smoothdp.errors import InvalidData, SmoothdpError
from smoothdp.services.analyzer.analyzer_party import AnalyzerParty
from smoothdp.services.check import check_party
from smoothdp.services.formats.result import SignedResult
from smoothdp.services.issuer.issuer_party import IssuerParty
from smoothdp.services.shuffler.published_results import publish
from smoothdp.services.shuffler.shuffler_party import ShufflerParty
from tests.services.operations import certificates
from tests.services.operations.certificates import Authority
from tests.services.storages import ONLY_SQLITE
from tests.services.worlds.directories import party_directories
from tests.services.worlds.party_world import WINDOW


def _wrong(directory: Path, *, results: Path | None = None) -> dict[str, str]:
    found = check_party(directory, results=results)
    return {condition.name: condition.says for condition in found if not condition.good}


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
    assert "ledger" not in _wrong(ledgers[0].parent)
    for left in ledgers[0].parent.glob("ledger-*"):
        left.unlink()
    with closing(sqlite3.connect(ledgers[1])) as source, closing(sqlite3.connect(ledgers[0])) as to:
        source.backup(to)
    ledgers[0].chmod(0o600)
    with pytest.raises(SmoothdpError, match="budget"):
        AnalyzerParty.from_directory(ledgers[0].parent)
    found = _wrong(ledgers[0].parent)["ledger"]
    assert str(ledgers[0]) in found
    assert "budget" in found


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
    assert "keys" not in _wrong(directory)
    (path,) = (p for p in directory.glob("*.sqlite") if p.stem in ("inner", "gateway"))
    data = path.read_bytes()
    path.write_bytes(data[:4096] + b"\xff" * 4096 + data[8192:])
    with pytest.raises(InvalidData, match="malformed"):
        kind.from_directory(directory)
    assert "damaged" in _wrong(directory)["keys"]


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
    assert "another party's" in _wrong(written.shuffler)["storage"]
    with pytest.raises(InvalidData, match="another party's"):
        ShufflerParty.from_directory(written.shuffler)


@ONLY_SQLITE
def test_a_check_does_not_pass_by_a_link_behind_which_there_is_nothing(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """The guide: whether "the ledger has charged all results that were published (signed, under
    whatever names, in folders below, and behind links, too".

    The archive of the older results is on a disk that is not there just now.
    """
    directory, folder = party_directories(tmp_path / "t").analyzer, tmp_path / "results"
    party = AnalyzerParty.from_directory(directory)
    said = {"task_id": party.task.task_id.hex(), "window": WINDOW}
    publish(folder, SignedResult.sign(said, party.analyzer.sign_key))
    party.analyzer.ledger.charge(WINDOW)
    party.close()
    assert "ledger" not in _wrong(directory, results=folder)
    (folder / "archive").symlink_to(tmp_path / "not mounted")
    assert "nothing behind the link" in _wrong(directory, results=folder)["ledger"]


def test_a_certificate_that_nobody_believes_yet_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The guide: "`serve check` says [...] whether the directory is fit: [...] certificate"."""

    class Later(datetime):
        @classmethod
        def now(cls, tz: object = None) -> datetime:  # type: ignore[override]
            del tz
            return datetime.now(UTC) + timedelta(days=100)

    authority = Authority(tmp_path)
    good, _ = authority.certificate("good")
    monkeypatch.setattr(certificates, "datetime", Later)
    early, _ = authority.certificate("early")
    directory = party_directories(tmp_path / "t").shuffler
    for certificate, wrong in ((good, False), (early, True)):
        found = check_party(directory, certificate=certificate)
        assert [c.good for c in found if c.name == "certificate"] == [not wrong]
