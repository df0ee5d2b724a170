"""The analyser's ledger, database and keys from an older copy, each of them and together."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing, suppress
from itertools import product
from pathlib import Path

import pytest

from smoothdp.errors import LedgerError, SmoothdpError
from smoothdp.services.analyzer.release import work
from smoothdp.services.analyzer.task_ledger import TaskLedger
from tests.services.storages import ONLY_SQLITE
from tests.services.worlds.older_copies import (
    DELETED,
    NOW,
    OLDER,
    back_up,
    copy_of,
    put_in_place,
    restore,
)
from tests.services.worlds.party_world import HOUR, WINDOW, PartyWorld
from tests.services.worlds.small_tasks import OPEN_TASK, small_task
from tests.services.worlds.whole_world import WholeWorld


@ONLY_SQLITE
def test_a_charge_pays_for_one_batch(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """The newest ledger beside an older copy of the rest: a shuffler that hands over another batch
    of a window that was released had a second result of it, without the one whom it left out.
    """
    (tmp_path / "world").mkdir()
    world = PartyWorld(tmp_path / "world", small_task(**OPEN_TASK))
    world.open_window()
    world.send_many(15)
    # The shuffler's files are not older: it keeps what it should have destroyed.
    names = ("analyzer.sqlite", "inner.sqlite", "shuffler.sqlite", "gateway.sqlite")
    back_up(world.folder, tmp_path / "copy", *names)
    first = world.finish()
    assert (first["state"], first["users"]) == ("RELEASED", 15)
    world.close()
    restore(tmp_path / "copy", world.folder)
    world._open()
    with world.shuffler.storage.transaction() as change:
        change.change(
            "DELETE FROM pending WHERE sender_tag = (SELECT min(sender_tag) FROM pending)"
        )
    second = world.finish()
    assert second["state"] == "REFUSED"
    assert "charged for another batch" in second["reason"]
    assert world.charged() == [WINDOW]
    assert world.keys[1].scopes() == []
    world.close()


@ONLY_SQLITE
def test_an_older_ledger_that_is_put_in_its_place_while_the_service_runs_takes_no_charge(
    tmp_path: Path,
) -> None:
    """The last charge was not read back: a copy from before it paid for one window more."""
    (tmp_path / "now").mkdir()
    ledger = TaskLedger(tmp_path / "now", small_task())
    ledger.charge(1)
    back_up(tmp_path / "now", tmp_path / "copy", ledger.path.name)
    ledger.charge(2)
    restore(tmp_path / "copy", tmp_path / "now")
    with pytest.raises(LedgerError, match="entry 2 is not what was read before"):
        ledger.charge(3)


@ONLY_SQLITE
@pytest.mark.slow
@pytest.mark.parametrize("stage", ["before the card", "while it is open", "not counted yet"])
@pytest.mark.parametrize(
    "old",
    [
        {"analyzer"},
        {"ledger"},
        {"inner"},
        {"analyzer", "ledger"},
        {"analyzer", "inner"},
        {"ledger", "inner"},
    ],
    ids="-".join,
)
def test_no_one_and_no_two_files_of_the_analyser_bring_back_what_was_spent(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
    stage: str,
    old: set[str],
) -> None:
    """All three from one older copy are not noticed here, which docs/threats.md says."""
    (tmp_path / "copy").mkdir()
    (tmp_path / "world").mkdir()
    world = PartyWorld(tmp_path / "world", small_task(**OPEN_TASK))

    def copy() -> None:
        for path in world.folder.glob("*"):
            if path.suffix in (".sqlite", ".db"):
                with (
                    closing(sqlite3.connect(path)) as now,
                    closing(sqlite3.connect(tmp_path / "copy" / path.name)) as then,
                ):
                    now.backup(then)

    def release(window: int, before: str = "") -> None:
        if before == "before the card":
            copy()
        world.open_window(window)
        world.go_to(window * HOUR + 5.0)
        world.send_many(14, window=window)
        if before == "while it is open":
            copy()
        world.seal(window)
        world.deliver()
        if before == "not counted yet":
            copy()
        assert world.finish(None, window)["state"] == "RELEASED"

    release(WINDOW)
    release(WINDOW + 1, stage)
    world.close()
    for path in (tmp_path / "copy").iterdir():
        if path.name.split(".")[0].split("-")[0] in old:
            for file in world.folder.glob(f"{path.name}*"):
                file.unlink()
            shutil.copy(path, world.folder / path.name)
    if "ledger" in old:
        with pytest.raises(LedgerError, match=f"none for 1, such as window {WINDOW + 1}"):
            world._open()
        return
    world._open()
    work(world.analyzer)
    assert world.charged() == [WINDOW, WINDOW + 1]
    release(WINDOW + 3)
    assert world.charged() == [WINDOW, WINDOW + 1, WINDOW + 3]
    world.close()


SECOND_RESULT = {(OLDER, OLDER, OLDER), (DELETED, OLDER, OLDER)}
"""Of ledger, database and keys: from where a second batch of a window is released."""


@pytest.mark.slow
@ONLY_SQLITE
def test_what_is_older_or_deleted_of_an_analyser_in_each_combination(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """The threat model: "database and keys from an older copy beside the newest ledger release no
    window again for another batch than it was charged for"; "where none of the three is from now,
    each an older copy [...] or deleted, that is not noticed".

    Each file as it is, as it was before the window was charged, or gone; the shuffler and the
    issuer are from an older copy too, and bring a batch of one person less. Where one of the three
    is from now it is refused, or charged as it was. Two of the others release it.
    """
    world = WholeWorld(tmp_path, fast=True)
    world.open_window()
    assert [world.take_part(person) for person in "abcd"] == [202] * 4
    world.close()
    names = (world.analyzer.ledger.path.name, "analyzer.sqlite", "inner.sqlite")
    before = {name: copy_of(tmp_path, name) for name in names}
    others = {name: copy_of(tmp_path, name) for name in ("shuffler", "gateway", "issuer")}
    world._open()
    assert world.take_part("one more") == 202
    assert world.end()["users"] == 5
    world.close()
    after = {name: copy_of(tmp_path, name) for name in names}
    second = set()
    for combination in product((NOW, OLDER, DELETED), repeat=3):
        for name, which in zip(names, combination, strict=True):
            put_in_place(tmp_path, name, {NOW: after, OLDER: before}.get(which, {}).get(name, {}))
        for name, files in others.items():
            put_in_place(tmp_path, name, files)
        try:
            world._open()
        except SmoothdpError:
            # A ledger that lacks what was spent is refused wherever anything tells of it.
            assert combination[0] != NOW
            assert NOW in combination[1:]
            continue
        assert combination[0] == NOW or NOW not in combination
        with suppress(SmoothdpError, OSError):
            world.end()
        result = world.result()
        if result["state"] == "RELEASED" and result["users"] == 4:
            second.add(combination)
        if combination[0] == NOW:
            assert world.charged() == [WINDOW]
        world.close()
    assert second == SECOND_RESULT


def _of_ledger_and_database(folder: Path) -> list[Path]:
    return [*folder.glob("ledger-*.db*"), *folder.glob("analyzer.sqlite*")]


@ONLY_SQLITE
def test_a_file_of_window_keys_that_is_made_anew_knows_the_charges_of_before(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """The threat model: "The analyser's ledger and database from an older copy, with the file of
    its keys from now, are refused at the start"; also if that file was lost since the release, and
    made anew.
    """
    world = WholeWorld(tmp_path, fast=True)
    world.open_window()
    assert [world.take_part(str(person)) for person in range(3)] == [202] * 3
    world.close()
    older = {path: path.read_bytes() for path in _of_ledger_and_database(tmp_path)}
    world._open()
    assert world.end()["state"] == "RELEASED"
    world.close()
    for path in tmp_path.glob("inner.sqlite*"):
        path.unlink()
    world._open()
    world.close()
    for path in _of_ledger_and_database(tmp_path):
        path.unlink()
    for path, data in older.items():
        path.write_bytes(data)
        path.chmod(0o600)
    with pytest.raises(LedgerError):
        world._open()


@ONLY_SQLITE
def test_a_released_window_is_not_refused_by_an_older_copy_of_the_database(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """The protocol: "RELEASED, REFUSED, QUARANTINED are final". The guide asks for no backup of
    `analyzer.sqlite`, and for none to be kept away.

    The database is a copy from between the batch and its release; ledger and keys are those of
    now. Seven days later the analyser signs that nothing more came of the window, which all have
    the signed result of.
    """
    world = WholeWorld(tmp_path)
    world.open_window()
    assert [world.take_part(str(person)) for person in range(3)] == [202] * 3
    world.seal()
    world.deliver()
    world.close()
    older = (tmp_path / "analyzer.sqlite").read_bytes()
    world._open()
    assert world.end()["state"] == "RELEASED"
    world.close()
    for path in tmp_path.glob("analyzer.sqlite*"):
        path.unlink()
    (tmp_path / "analyzer.sqlite").write_bytes(older)
    (tmp_path / "analyzer.sqlite").chmod(0o600)
    world._open()
    world.go_to(world.now + 8 * 86_400)
    work(world.analyzer)
    said = world.result()
    world.close()
    assert said["state"] != "REFUSED", said
