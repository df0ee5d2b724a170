"""A sixth round, from the threat model alone: two faults at once, and mends of faults."""

from __future__ import annotations

import contextlib
import shutil
import sqlite3
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pytest

from smoothdp.errors import InvalidData, InvalidParameter, LedgerError
from smoothdp.services import take_part
from smoothdp.services.analyzer.analyzer_party import AnalyzerParty
from smoothdp.services.analyzer.release import work
from smoothdp.services.analyzer.task_ledger import TaskLedger
from smoothdp.services.analyzer.window_cards import GATEWAY, ISSUER, key_scope
from smoothdp.services.check import check_party
from smoothdp.services.formats.result import SignedResult
from smoothdp.services.shuffler import shuffler_party
from smoothdp.services.shuffler.delivery import Put
from smoothdp.services.shuffler.ingest import Taken
from smoothdp.services.shuffler.sealing import seal_due
from smoothdp.services.wire.hybrid import PrivateKey
from tests.services.storages import ONLY_SQLITE
from tests.services.worlds.directories import party_directories
from tests.services.worlds.party_world import HOUR, WINDOW, PartyWorld, issuer_key
from tests.services.worlds.small_tasks import small_task
from tests.services.worlds.three_parties import Parties

pytestmark = ONLY_SQLITE
OPEN_TASK: dict[str, Any] = {"issuer": None, "proof": "none"}


# ---- one charge, two batches: an analyser from a copy, the newest ledger, another shuffler


def copy_of(folder: Path, copy: Path, *names: str) -> None:
    """Copy databases as they are now, what is in their logs too."""
    copy.mkdir(exist_ok=True)
    for name in names:
        with (
            closing(sqlite3.connect(folder / name)) as now,
            closing(sqlite3.connect(copy / name)) as then,
        ):
            now.backup(then)


def restore(copy: Path, folder: Path) -> None:
    for path in copy.iterdir():
        for file in folder.glob(f"{path.name}*"):
            file.unlink()
        shutil.copy(path, folder / path.name)


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
    copy_of(world.folder, tmp_path / "copy", *names)
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


def test_an_older_ledger_that_is_put_in_its_place_while_the_service_runs_takes_no_charge(
    tmp_path: Path,
) -> None:
    """The last charge was not read back: a copy from before it paid for one window more."""
    (tmp_path / "now").mkdir()
    ledger = TaskLedger(tmp_path / "now", small_task())
    ledger.charge(1)
    copy_of(tmp_path / "now", tmp_path / "copy", ledger.path.name)
    ledger.charge(2)
    restore(tmp_path / "copy", tmp_path / "now")
    with pytest.raises(LedgerError, match="entry 2 is not what was read before"):
        ledger.charge(3)


# ---- reports that nothing could seal, until the window itself is forgotten


def test_reports_of_a_window_that_was_never_sealed_go_with_it(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Their rows stayed for ever, M slots beside each other, and nobody was told."""
    world = PartyWorld(tmp_path, small_task(**OPEN_TASK))
    world.open_window()
    world.send_many(15)
    rows = world.shuffler.storage.read("SELECT sender_tag, slots FROM pending")
    with world.shuffler.storage.transaction() as change:
        change.change(
            "UPDATE pending SET slots = x'00' WHERE sender_tag = "
            "(SELECT min(sender_tag) FROM pending)"
        )
    world.go_to((WINDOW + 1) * HOUR + 31 * 86_400)
    for _ in range(2):
        with contextlib.suppress(ValueError):
            seal_due(world.shuffler)
        world.shuffler.forget_old()
    assert world.shuffler.storage.read("SELECT 1 FROM pending") == []
    assert world.shuffler.cards.kept() == []
    assert not any(bytes(part) in world.files() for row in rows for part in row)
    assert caplog.text.count("the reports of window 1000 were dropped") == 1
    world.close()


# ---- what a folder of results hides: links, and links in a circle


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


# ---- more spellings of one address


@pytest.mark.parametrize(
    ("shuffler", "issuer"),
    [
        ("https://203.0.113.5:8603", "https://[::ffff:203.0.113.5]:8603"),
        ("https://203.0.113.5", "https://0xcb007105"),
        ("https://203.0.113.5", "https://203.28933:443"),
        ("http://127.0.0.1:8603", "https://127.1:8603"),
        ("https://issuer.example", "https://cache.example"),
    ],
)
def test_an_address_of_the_issuer_in_any_spelling_is_not_the_shufflers(
    shuffler: str, issuer: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The system takes more forms of a number than Python's own reader; and the issuer that the
    task names is one, whatever other address of it is given.
    """
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    with pytest.raises(InvalidParameter, match="addresses of the shuffler and the issuer"):
        take_part(
            small_task(),
            1,
            shuffler=shuffler,
            pass_secret="0a" * 48,
            invitation="0b" * 48,
            issuer=issuer,
        )
    assert list(tmp_path.iterdir()) == []


# ---- one card a window: an analyser whose database is older, or lost, and another gateway key


@pytest.mark.parametrize("copy", [True, False])
def test_no_window_gets_a_second_card_from_an_analyser_that_lost_its_database(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
    copy: bool,
) -> None:
    """The shuffler brought another gateway key, and had two cards of one window signed."""
    (tmp_path / "world").mkdir()
    world = PartyWorld(tmp_path / "world", small_task() if copy else small_task(**OPEN_TASK))
    if copy:
        world.analyzer.cards.put_key(ISSUER, WINDOW, issuer_key().public.spki)
        copy_of(world.folder, tmp_path / "copy", "analyzer.sqlite")
    world.open_window()
    world.close()
    for path in world.folder.glob("analyzer.sqlite*"):
        path.unlink()
    if copy:
        restore(tmp_path / "copy", world.folder)
    world._open()
    other = PrivateKey.generate().public.to_bytes()
    cards = world.analyzer.cards
    for window in (WINDOW, WINDOW + 1):
        assert cards.put_key(GATEWAY, window, other) == 201
        if copy:
            assert cards.put_key(ISSUER, window, issuer_key().public.spki) in (200, 201)
    assert cards.shown(WINDOW) is None
    assert cards.shown(WINDOW + 1) is not None
    # What is left of the first one goes as of all windows without an end.
    world.go_to((WINDOW + 3) * HOUR + 7 * 86_400)
    for _ in range(2):
        work(world.analyzer)
    assert world.keys[1].scopes() == []
    world.close()


def test_a_card_that_was_not_shown_is_made_again(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """A program that stops, or a full disk, between the key and the card costs no window."""
    world = PartyWorld(tmp_path, small_task(**OPEN_TASK))
    world.keys[1].seal(key_scope(world.task.task_id, WINDOW), b"of a card that is not there")
    world.open_window()
    assert world.analyzer.cards.inner_key(WINDOW) is not None
    world.close()


def test_a_shuffler_that_lost_its_database_signs_no_second_card(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """An analyser that takes a second gateway key had two cards of one window signed."""
    world = PartyWorld(tmp_path, small_task(**OPEN_TASK))
    world.open_window()
    world.close()
    # The analyser is the liar: it begins anew, its file of keys too.
    for path in world.folder.iterdir():
        if path.name.split(".")[0] != "gateway":
            path.unlink()
    world._open()
    with pytest.raises(InvalidData, match="one whose card was lost here"):
        world.open_window()
    assert world.shuffler.cards.stored(WINDOW) is None
    assert world.shuffler.takes(WINDOW) is Taken.UNKNOWN
    world.open_window(WINDOW + 1)
    world.close()


# ---- a batch that takes longer to hand over than the word of a clock lasts


def test_a_long_delivery_does_not_hold_the_clocks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ten minutes into a large batch both services held: 503 to everybody until its end."""
    held = []
    with ExitStack() as stack:
        parties = Parties(tmp_path, stack)
        clocks = parties.shuffler.shuffler.clocks, parties.analyzer.analyzer.clocks
        with parties.shuffler.shuffler.storage.transaction() as change:
            change.change(
                "INSERT INTO batch (batch_id, task_id, window, state, users, header) "
                "VALUES (?, ?, ?, 'SEALED', 12, ?)",
                (b"b" * 16, parties.task.task_id, WINDOW - 1, b"header"),
            )
            for part in range(10):
                change.change(
                    "INSERT INTO batch_part (batch_id, part, bytes) VALUES (?, ?, ?)",
                    (b"b" * 16, part, b"part"),
                )

        def slow(*_: object) -> Put:
            def put(path: str, body: bytes) -> int:  # noqa: ARG001
                parties.now += 100.0
                held.append([one.hold() for one in clocks])
                return 201

            return put

        monkeypatch.setattr(shuffler_party, "putting", slow)
        parties.shuffler.work(parties.url)
    assert held == [[None, None]] * 11
