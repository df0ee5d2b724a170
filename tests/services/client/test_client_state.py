"""What a client keeps: one draw per window, one state per user, whatever folder, copy or clock."""

from __future__ import annotations

import os
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from smoothdp.errors import InvalidData
from smoothdp.services.client.client import Client
from smoothdp.services.client.outcomes import OutcomeStore
from smoothdp.services.wire.calls import ServiceError
from tests.services.worlds.issuing_world import HOUR, WINDOW, IssuingWorld, Recorder, send


@pytest.fixture
def world(tmp_path: Path) -> Iterator[IssuingWorld]:
    made = IssuingWorld(tmp_path)
    made.open_window()
    yield made
    made.close()


def test_a_clock_that_was_wrong_makes_no_second_draw(world: IssuingWorld) -> None:
    """What was destroyed leaves that it was there: sent twice, one person would count twice."""
    client, shuffler, mine = world.client(), Recorder(world), world.invitation()
    send(world, client, shuffler, invitation=mine)
    (report,) = shuffler.reports()
    true = world.now
    world.now = (WINDOW + 4) * HOUR + 700.0  # four windows ahead, for a moment
    assert client.settle() == 1
    world.now = true
    for _ in range(2):
        client = world.client()
        with pytest.raises(InvalidData):
            send(world, client, shuffler, invitation=mine)
    assert len(shuffler.bodies) == 1
    for file in (world.folder / "client").iterdir():
        found = file.read_bytes()
        assert not any(slot in found for slot in report.slots), file.name


def test_a_copied_state_sends_the_same(world: IssuingWorld) -> None:
    """A backup that is restored, or a second machine with a copy, is no second draw."""
    client, shuffler, mine = world.client(), Recorder(world, [503, 202, 202]), world.invitation()
    card = world.make_card()
    client.take_part(1, card=card, window=WINDOW)
    (world.folder / "copy").mkdir()
    with (
        closing(sqlite3.connect(world.folder / "client" / "windows.sqlite")) as source,
        closing(sqlite3.connect(world.folder / "copy" / "windows.sqlite")) as target,
    ):
        source.backup(target)
    copy = world.client("copy")
    with pytest.raises(ServiceError):
        send(world, client, shuffler, invitation=mine, datum=0)
    for each in (copy, client):
        assert send(world, each, shuffler, invitation=mine, datum=0) == WINDOW
    assert len(shuffler.bodies) == 3
    assert len({report.encode() for report in shuffler.reports()}) == 1


PROCESS = """
import sys
from pathlib import Path
from smoothdp.services.client.client import Client
from smoothdp.services.client.outcomes import OutcomeStore
from smoothdp.services.formats.task import Task
task = Task.decode(Path(sys.argv[1]).read_bytes())
card, window, now = Path(sys.argv[2]).read_bytes(), int(sys.argv[3]), float(sys.argv[4])
sys.stdin.readline()
client = Client(task, OutcomeStore.of_user(), clock=lambda: now)
print(client.take_part(1, card=card, window=window).slots.hex())
print(client.token_request(window).hex())
"""


def test_processes_at_once_agree_on_one_draw(world: IssuingWorld, state_home: Path) -> None:
    task, card = world.folder / "task.json", world.folder / "card"
    task.write_bytes(world.task.encoded)
    card.write_bytes(world.make_card())
    running = []
    for number in range(3):
        place = world.folder / f"folder {number}"
        place.mkdir()
        arguments = [str(task), str(card), str(WINDOW), str(world.now)]
        running.append(
            subprocess.Popen(
                [sys.executable, "-c", PROCESS, *arguments],
                cwd=place,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
        )
    for process in running:
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
    said = {process.communicate(timeout=120)[0] for process in running}
    assert [process.returncode for process in running] == [0] * 3
    assert len(said) == 1
    assert [file.name for file in (state_home / "smoothdp" / "clients").iterdir()] == [
        "windows.sqlite"
    ]


def test_the_state_is_its_users_alone(world: IssuingWorld, state_home: Path) -> None:
    OutcomeStore.of_user().close()
    clients = state_home / "smoothdp" / "clients"
    clients.chmod(0o755)
    store = OutcomeStore.of_user()
    client = Client(world.task, store, clock=lambda: world.now)
    client.take_part(1, card=world.make_card(), window=WINDOW)
    for folder in (clients, clients.parent, state_home):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700, folder
    files = list(clients.iterdir())
    assert "windows.sqlite" in {file.name for file in files}
    for file in files:
        assert stat.S_IMODE(file.stat().st_mode) == 0o600, file
    store.close()


@pytest.mark.parametrize("named", [None, "", "state", "./state"])
def test_a_state_folder_that_depends_on_the_folder_is_not_used(
    named: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("XDG_STATE_HOME")
    if named is not None:
        monkeypatch.setenv("XDG_STATE_HOME", named)
    OutcomeStore.of_user().close()
    found = [str(file.relative_to(tmp_path)) for file in tmp_path.rglob("windows.sqlite")]
    assert found == ["home/.local/state/smoothdp/clients/windows.sqlite"]


def test_state_folders_that_cannot_be_used(
    tmp_path: Path, state_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    state_home.write_text("a file")
    with pytest.raises(InvalidData, match="a folder for the state of clients"):
        OutcomeStore.of_user()
    state_home.unlink()
    (tmp_path / "elsewhere").mkdir()
    (state_home / "smoothdp").mkdir(parents=True)
    (state_home / "smoothdp" / "clients").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(InvalidData, match="to be a folder of yours; got a link"):
        OutcomeStore.of_user()
    (state_home / "smoothdp" / "clients").unlink()
    owner = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: owner + 1)
    with pytest.raises(InvalidData, match="to be a folder of yours; got somebody else's"):
        OutcomeStore.of_user()
