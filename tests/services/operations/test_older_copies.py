"""Files that are lost, or are older copies: who was revoked stays so, what was spent stays so."""

from __future__ import annotations

import json
import logging
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from click.testing import CliRunner

from smoothdp.cli.serving.serve import serve
from smoothdp.errors import LedgerError
from smoothdp.services.analyzer.analyzer_party import AnalyzerParty
from smoothdp.services.check import check_party
from smoothdp.services.formats.result import SignedResult
from smoothdp.services.issuer.issuer_party import IssuerParty, issue_invitations
from smoothdp.services.shuffler.published_results import publish
from smoothdp.services.shuffler.shuffler_party import ShufflerParty, issue_passes
from smoothdp.services.store.revoked import REVOKED_FILE, Revoked, revoke
from tests.services.storages import ONLY_SQLITE
from tests.services.worlds.directories import Directories, party_directories
from tests.services.worlds.party_world import WINDOW, PartyWorld

USERS = 14


def wrong(directory: Path, results: Path | None = None) -> dict[str, str]:
    found = check_party(directory, results=results)
    return {condition.name: condition.says for condition in found if not condition.good}


# ---- who was revoked


@pytest.fixture
def written(tmp_path: Path) -> Directories:
    return party_directories(tmp_path / "t")


def identity_of(secret: str) -> bytes:
    return bytes.fromhex(secret[:32])


def let_in(directory: Path, secret: str) -> bool:
    """Whether a party that starts in its directory, and does a round, knows a secret."""
    if directory.name == "shuffler":
        shuffler = ShufflerParty.from_directory(directory)
        shuffler.revoked.remember()
        found = shuffler.shuffler.sender(secret) is not None
        shuffler.close()
        return found
    issuer = IssuerParty.from_directory(directory)
    issuer.issuer.revoked.remember()
    admitted = issuer.issuer.admit(secret, 0, 1)
    issuer.close()
    return getattr(admitted, "status", 0) != 401


@pytest.mark.parametrize("party", ["shuffler", "issuer"])
def test_a_list_of_revoked_that_is_lost_lets_nobody_back_in(
    written: Directories, party: str, caplog: pytest.LogCaptureFixture
) -> None:
    directory = getattr(written, party)
    make = issue_passes if party == "shuffler" else issue_invitations
    first, second, honest = make(directory, 3)
    assert let_in(directory, first)
    revoke(directory / REVOKED_FILE, [identity_of(first)])
    older = (directory / REVOKED_FILE).read_bytes()
    revoke(directory / REVOKED_FILE, [identity_of(second)])
    assert not let_in(directory, second)
    assert "revoked" not in wrong(directory)
    for left in (older, b"", None):
        if left is None:
            (directory / REVOKED_FILE).unlink()
        else:
            (directory / REVOKED_FILE).write_bytes(left)
        caplog.clear()
        with caplog.at_level(logging.WARNING, logger="smoothdp.services"):
            assert [let_in(directory, who) for who in (first, second, honest)] == [
                False,
                False,
                True,
            ]
        assert "count all the same" in caplog.text
        assert "that were in it, and count all the same" in wrong(directory)["revoked"]
    revoke(directory / REVOKED_FILE, [identity_of(first), identity_of(second)])
    assert "revoked" not in wrong(directory)


def test_while_a_party_runs(tmp_path: Path) -> None:
    """With a storage or without: what was read once counts, and other processes hear of it."""
    path = tmp_path / REVOKED_FILE
    revoke(path, [bytes(16)])
    alone = Revoked(path)
    path.unlink()
    assert bytes(16) in alone
    revoke(path, [b"1" * 16])
    assert bytes(16) in alone
    assert b"1" * 16 in alone


@ONLY_SQLITE
def test_what_one_process_has_read_counts_in_the_others(
    written: Directories,
    storage_kind: str,  # noqa: ARG001
) -> None:
    one, two = (ShufflerParty.from_directory(written.shuffler) for _ in range(2))
    secret = issue_passes(written.shuffler, 1)[0]
    revoke(written.shuffler / REVOKED_FILE, [identity_of(secret)])
    assert one.shuffler.sender(secret) is None
    one.revoked.remember()  # as each round of work does
    (written.shuffler / REVOKED_FILE).unlink()
    two.revoked.remember()
    assert two.shuffler.sender(secret) is None
    assert len(two.revoked._stored()) == 1
    # A round hears of a list that nobody has asked about.
    revoke(written.shuffler / REVOKED_FILE, [identity_of(issue_passes(written.shuffler, 1)[0])])
    two.revoked.remember()
    assert len(one.revoked._stored()) == 2
    one.close()
    two.close()


# ---- what was spent


def released(world: PartyWorld, window: int) -> None:
    world.open_window(window)
    world.go_to(window * 3600 + 5.0)
    world.send_many(USERS, window=window)
    assert world.finish(USERS, window)["state"] == "RELEASED"


@ONLY_SQLITE
def test_an_older_copy_of_database_and_ledger_together_is_noticed(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """The file of the keys has no copies: it knows what was charged since."""
    world = PartyWorld(tmp_path)
    copied = ("analyzer.sqlite", world.analyzer.ledger.path.name)
    released(world, WINDOW)
    (tmp_path / "copy").mkdir()
    for name in copied:
        with (
            closing(sqlite3.connect(tmp_path / name)) as now,
            closing(sqlite3.connect(tmp_path / "copy" / name)) as copy,
        ):
            now.backup(copy)
    released(world, WINDOW + 1)
    assert world.charged() == [WINDOW, WINDOW + 1]
    world.close()
    for name in copied:
        for file in tmp_path.glob(f"{name}*"):
            file.unlink()
        shutil.copy(tmp_path / "copy" / name, tmp_path / name)
    with pytest.raises(LedgerError, match=f"none for 1, such as window {WINDOW + 1}"):
        world._open()
    # Without that file nothing here tells: then the window would be paid for again.
    (tmp_path / "inner.sqlite").unlink()
    world._open()
    assert world.charged() == [WINDOW]
    world.close()
    # A new one knows at once what is charged when the analyser starts.
    for file in tmp_path.glob(f"{copied[1]}*"):
        file.unlink()
    (tmp_path / "analyzer.sqlite").unlink()
    with pytest.raises(LedgerError, match=f"none for 1, such as window {WINDOW}"):
        world._open()


def test_published_results_tell_of_a_ledger_that_lacks_them(
    written: Directories, tmp_path: Path
) -> None:
    """Where all files are older copies, only what others have can tell: `--results`."""
    party = AnalyzerParty.from_directory(written.analyzer)
    key, name = party.analyzer.sign_key, party.task.task_id.hex()
    party.analyzer.ledger.charge(7)
    party.close()
    publish(tmp_path / "shown", SignedResult.sign({"task_id": name, "window": 7}, key))
    assert "ledger" not in wrong(written.analyzer, results=tmp_path / "shown")
    publish(tmp_path / "shown", SignedResult.sign({"task_id": name, "window": 8}, key))
    refused = {"task_id": name, "window": 6, "state": "REFUSED", "reason": "the budget"}
    publish(tmp_path / "refused", SignedResult.sign(refused, key))
    assert "ledger" not in wrong(written.analyzer, results=tmp_path / "refused")
    assert "such as 8" in wrong(written.analyzer, results=tmp_path / "shown")["ledger"]
    assert "ledger" not in wrong(written.analyzer)
    # What is not this analyser's result proves nothing.
    shown = json.loads((tmp_path / "shown" / "8.json").read_text())
    (tmp_path / "shown" / "8.json").write_text(json.dumps(shown | {"signature": "00" * 64}))
    options = ["check", str(written.analyzer), "--results", str(tmp_path / "shown")]
    assert "good   ledger" in CliRunner().invoke(serve, options).output
