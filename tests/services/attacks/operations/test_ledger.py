"""The ledger: copies of it have all charges, and published results are compared with it."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import shutil
import sqlite3
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path

import pytest

from smoothdp.errors import SmoothdpError
from smoothdp.ledger import Ledger
from smoothdp.services import check
from smoothdp.services.analyzer.analyzer_party import AnalyzerParty
from smoothdp.services.analyzer.release import work
from smoothdp.services.analyzer.task_ledger import TaskLedger
from smoothdp.services.check import check_party
from smoothdp.services.check_ledger import ledger_condition
from smoothdp.services.formats.batch import BatchHeader
from smoothdp.services.formats.result import SignedResult
from smoothdp.services.formats.signing import SigningKey
from smoothdp.services.shuffler.published_results import publish
from tests.services.storages import ONLY_SQLITE
from tests.services.worlds.checked import what_is_wrong
from tests.services.worlds.directories import party_directories
from tests.services.worlds.party_world import HOUR, WINDOW, PartyWorld
from tests.services.worlds.small_tasks import ANALYZER_SIGN, OPEN_TASK, small_task
from tests.services.worlds.three_windows import THREE


@ONLY_SQLITE
def test_a_charge_that_was_read_beside_is_in_the_one_file_after_the_next_round(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """Somebody who shows or copies the ledger during a release keeps its log from being emptied."""
    world = PartyWorld(tmp_path, small_task(issuer=None, proof="none"))
    world.open_window()
    world.send_many(12)
    world.seal()
    world.deliver()
    path = world.analyzer.ledger.path
    with closing(sqlite3.connect(path)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM sqlite_master").fetchone()
        assert work(world.analyzer) == 1
    work(world.analyzer)
    (tmp_path / "backup").mkdir()
    copy = shutil.copy(path, tmp_path / "backup")
    assert [int(one.parameters["window"]) for one in Ledger(copy).entries()] == [WINDOW]
    world.close()


@ONLY_SQLITE
def test_a_copy_of_the_ledger_after_a_release_has_its_charge(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """The service runs on: what is in the log beside alone would be spent again from the copy."""
    world = PartyWorld(tmp_path, small_task(**OPEN_TASK))
    (ledger,) = tmp_path.glob("ledger-*.db")
    for n, window in enumerate(THREE, start=1):
        world.go_to(window * HOUR + 5.0)
        world.open_window(window)
        world.send_many(12, window=window)
        assert world.finish(None, window)["state"] == "RELEASED"
        shutil.copy(ledger, tmp_path / f"copy {n}.db")
        entries = Ledger(tmp_path / f"copy {n}.db").entries()
        assert [int(entry.parameters["window"]) for entry in entries] == list(THREE[:n])
    world.close()


@ONLY_SQLITE
def test_two_results_of_one_window_are_not_both_charged(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """The guide: `serve check --results` says "whether the ledger has charged all results that
    were published".

    A machine that was set back to a snapshot started by itself, and a shuffler that is not honest
    brought another batch of a window whose result was out: one charge, two results.
    """
    directory = party_directories(tmp_path / "task").analyzer
    party = AnalyzerParty.from_directory(directory)
    published = tmp_path / "published"
    published.mkdir()
    header = BatchHeader(
        signed=True,
        card_digest=bytes(32),
        batch_id=bytes(16),
        users=13,
        slots=13,
        part_hashes=(bytes(32),),
        marks_sha256=bytes(32),
    )
    for users in (13, 12):
        batch = replace(header, users=users, slots=users).sign(SigningKey.generate()).encode()
        document = {
            "task_id": party.task.task_id.hex(),
            "window": 1000,
            "users": users,
            "batch_header": batch.hex(),
        }
        signed = SignedResult.sign(document, party.analyzer.sign_key)
        (published / f"{users}.json").write_bytes(signed.encode())
    # Of the snapshot and what came after it: the charge of the second result alone.
    party.analyzer.ledger.charge(1000, batch=hashlib.sha256(batch).digest())
    party.close()
    said = {one.name: one for one in check.check_party(directory, results=published)}["ledger"]
    assert not said.good, said.says


@ONLY_SQLITE
def test_results_under_any_name_are_looked_at_and_a_folder_without_any_is_said(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """The only thing that tells of a machine that was set back must not pass what it was given."""
    written = party_directories(tmp_path)
    party = AnalyzerParty.from_directory(written.analyzer)
    key, name = party.analyzer.sign_key, party.task.task_id.hex()
    party.close()

    def ledger() -> tuple[bool, str]:
        found = check_party(written.analyzer, results=tmp_path / "kept")
        return next((one.good, one.says) for one in found if one.name == "ledger")

    (tmp_path / "kept" / "of may").mkdir(parents=True)
    (tmp_path / "kept" / "notes.txt").write_text("{}")
    good, says = ledger()
    assert not good
    assert says.startswith("nothing to compare: no file in ")
    refused = {"task_id": name, "window": 6, "state": "REFUSED", "reason": "the budget"}
    (tmp_path / "kept" / "6").write_bytes(SignedResult.sign(refused, key).encode())
    assert ledger() == (True, "whole; windows charged: 0; signed results compared: 1")
    result = SignedResult.sign({"task_id": name, "window": 8}, key)
    (tmp_path / "kept" / "of may" / "eighth result").write_bytes(result.encode())
    good, says = ledger()
    assert not good
    assert "such as 8" in says


@ONLY_SQLITE
def test_results_of_any_name_tell_of_a_ledger_that_lacks_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Collectors name their files: those without .json were passed by, and the ledger was good."""
    written, shown = party_directories(tmp_path / "t"), tmp_path / "shown"
    party = AnalyzerParty.from_directory(written.analyzer)
    key, name = party.analyzer.sign_key, party.task.task_id.hex()
    party.analyzer.ledger.charge(7)
    party.close()

    def ledger() -> tuple[bool, str]:
        found = check_party(written.analyzer, results=shown)
        (said,) = [(one.good, one.says) for one in found if one.name == "ledger"]
        return said

    (shown / "2026").mkdir(parents=True)
    (shown / "notes.txt").write_text("kept by the collector")
    assert (ledger()[0], "nothing to compare" in ledger()[1]) == (False, True)
    for window, file in ((7, "seven"), (8, "2026/result.JSON")):
        signed = SignedResult.sign({"task_id": name, "window": window}, key).encode()
        (shown / file).write_bytes(signed)
        good, words = ledger()
        assert good == (window == 7)
        assert ("signed results compared: 1" if good else "such as 8") in words
    monkeypatch.setattr(os, "access", lambda path, _: Path(path).name != "result.JSON")
    assert "no right to read" in ledger()[1]


@ONLY_SQLITE
def test_results_behind_a_link_are_compared_too(tmp_path: Path) -> None:
    """A folder that is a link, to the disk of an archive, was passed by: "compared: 1"."""
    directory, results, archive = tmp_path / "party", tmp_path / "results", tmp_path / "archive"
    directories = party_directories(directory)
    party = AnalyzerParty.from_directory(directories.analyzer)
    party.analyzer.ledger.charge(7)
    for folder, window in ((results, 7), (archive / "2025", 8)):
        folder.mkdir(parents=True)
        document = {"task_id": party.task.task_id.hex(), "window": window}
        signed = SignedResult.sign(document, party.analyzer.sign_key)
        (folder / "kept").write_bytes(signed.encode())
    party.close()

    def ledger() -> tuple[bool, str]:
        (found,) = (
            one
            for one in check_party(directories.analyzer, results=results)
            if one.name == "ledger"
        )
        return found.good, found.says

    assert ledger() == (True, "whole; windows charged: 1; signed results compared: 1")
    (results / "old").symlink_to(archive)
    (archive / "round").symlink_to(results)
    good, says = ledger()
    assert not good
    assert "no charge of 1 windows that were released, such as 8" in says


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
    assert "ledger" not in what_is_wrong(directory, results=folder)
    (folder / "archive").symlink_to(tmp_path / "not mounted")
    assert "nothing behind the link" in what_is_wrong(directory, results=folder)["ledger"]


@ONLY_SQLITE
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


def test_a_result_that_was_saved_anew_is_one_all_the_same() -> None:
    """The guide: results are compared "signed, under whatever names"; others save them in their
    own ways, and one that was passed by would not tell of a lost charge.
    """
    key = SigningKey.generate()
    data = SignedResult.sign({"task_id": "00", "window": 7}, key).encode()
    text, parts = data.decode(), json.loads(data)
    turned = dict(reversed(list(parts.items())))
    ways = (f"{text}\r\n", f"\ufeff{text}", json.dumps(parts, indent=4), json.dumps(turned))
    for saved in (*(way.encode() for way in ways), text.encode("utf-16")):
        assert SignedResult.decode(saved).verify(key.public)
    other = text.replace('\\"window\\": 7', '\\"window\\": 8')
    assert other != text
    assert not SignedResult.decode(other.encode()).verify(key.public)
