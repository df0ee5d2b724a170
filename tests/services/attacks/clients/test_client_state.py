"""The file of a client's state: on a full disk, damaged, moved, of another user or program."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from smoothdp.cli.main import main
from smoothdp.errors import InvalidData
from smoothdp.services.client.outcomes import OutcomeStore
from tests.services.storages import ON_BOTH_STORAGES
from tests.services.worlds.draws import DRAW
from tests.services.worlds.issuing_world import WINDOW, IssuingWorld, Recorder, send
from tests.services.worlds.quick_clients import submitting


def test_a_full_disk_is_said_in_words_and_goes_on_when_there_is_room(tmp_path: Path) -> None:
    """It was a traceback of SQLite."""
    made = IssuingWorld(tmp_path, protocol="real_sum")  # a report of several pages
    made.open_window()
    shuffler, mine = Recorder(made), made.invitation()
    ends: list[str] = []
    words: set[str] = set()
    client = made.client("a disk that is filled, page by page")
    connection = client._outcomes._storage._connection
    pages = connection.execute("PRAGMA page_count").fetchone()[0]
    for room in range(12):
        connection.execute(f"PRAGMA max_page_count={pages + room}")
        try:
            send(made, client, shuffler, invitation=mine)
            ends.append("sent")
        except InvalidData as error:
            words.add(str(error.got) + error.remedy[:9])
            row = client.kept(WINDOW)
            ends.append("none" if row is None else row.state)
            assert not shuffler.bodies
    assert words == {"database or disk is fullMake room"}
    # One draw: what was stored before there was room for more is what was sent.
    assert len({report.encode() for report in shuffler.reports()}) == 1
    assert ends == sorted(ends, key=["none", "drawn", "sent"].index)
    assert {"drawn", "sent"} <= set(ends)
    made.close()


@pytest.mark.parametrize(
    ("harm", "words"),
    [
        (lambda data: os.urandom(len(data)), "not a database"),
        (lambda data: data[: len(data) // 2], "malformed"),
        (lambda data: data[:4096] + os.urandom(len(data) - 4096), "malformed"),
    ],
)
def test_a_damaged_state_is_said_to_a_person(
    harm: Callable[[bytes], bytes], words: str, world: IssuingWorld
) -> None:
    world.client()._outcomes.close()
    file = world.folder / "client" / "windows.sqlite"
    file.write_bytes(harm(file.read_bytes()))
    with pytest.raises(InvalidData, match=f"{words}.*begins anew"):
        world.client()


@ON_BOTH_STORAGES
@pytest.mark.parametrize(
    "harm",
    [
        pytest.param(lambda data: data.replace(b"outcome", b"outc\xffme"), id="a table's name"),
        pytest.param(lambda data: data.replace(b"CREATE", b"CR\xffATE"), id="a table's words"),
        pytest.param(lambda data: data.replace(b"\x00\x04\x00\x01\x00\x03", bytes(6)), id="a card"),
    ],
)
def test_a_state_with_a_few_wrong_bytes_is_said_to_a_person(
    harm: Callable[[bytes], bytes],
    quick_world: IssuingWorld,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """ "A client's disk that is full, its file damaged or of a later program: words, one draw"."""
    shuffler = Recorder(quick_world, [503])
    asked = submitting(quick_world, shuffler.address)
    with pytest.raises(SystemExit):
        main(asked)
    file = tmp_path / "state" / "smoothdp" / "clients" / "windows.sqlite"
    harmed = harm(file.read_bytes())
    assert harmed != file.read_bytes()
    file.write_bytes(harmed)
    capsys.readouterr()
    with pytest.raises(SystemExit):
        main(asked)
    assert "state of this user's clients" in capsys.readouterr().err
    assert len({report.encode() for report in shuffler.reports()}) == 1


def test_a_later_state_is_no_reason_for_an_older_copy(world: IssuingWorld) -> None:
    """An older copy of it would be a second draw."""
    world.client()._outcomes.close()
    with closing(sqlite3.connect(world.folder / "client" / "windows.sqlite")) as file:
        file.execute("PRAGMA user_version = 99")
    with pytest.raises(InvalidData) as caught:
        world.client()
    assert str(caught.value).endswith("Upgrade smoothdp.")


def test_a_relative_home_gives_each_folder_no_state_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    monkeypatch.setenv("HOME", "somewhere")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InvalidData, match="a home folder"):
        OutcomeStore.of_user()
    assert list(tmp_path.iterdir()) == []


def test_a_state_that_is_there_is_made_private_and_no_link_is_followed(tmp_path: Path) -> None:
    """A state that is "private to that user": others' rights are taken, of a file that is there."""
    state = tmp_path / "windows.sqlite"
    OutcomeStore(state).close()
    state.chmod(0o644)
    OutcomeStore(state).close()
    assert state.stat().st_mode & 0o777 == 0o600
    (tmp_path / "link").symlink_to(state)
    with pytest.raises(InvalidData, match="a link"):
        OutcomeStore(tmp_path / "link")
    (tmp_path / "nowhere").symlink_to(tmp_path / "absent")
    with pytest.raises(InvalidData, match="a link"):
        OutcomeStore(tmp_path / "nowhere")


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_whoever_ends_after_a_state_was_moved_away_takes_no_log_of_the_new_one(
    tmp_path: Path,
) -> None:
    """ "Who clears it begins anew", once: also if a call of before still has the cleared one.

    It removes its log by name when it ends, and that is the log of another state by then.
    """
    folder = tmp_path / "clients"
    folder.mkdir()
    before = OutcomeStore(folder / "windows.sqlite")
    folder.rename(tmp_path / "away")
    folder.mkdir()
    store = OutcomeStore(folder / "windows.sqlite")
    store.keep(b"task", 7, "me", **DRAW, most=1)
    before.close()
    another = OutcomeStore(folder / "windows.sqlite")
    kept = another.keep(b"task", 7, "me", **(DRAW | {"slots": b"2"}), most=1)
    assert kept is not None
    assert kept.slots == DRAW["slots"]
    another.close()
    store.close()
