"""People of `take_part` who do not wait between two attempts, at the time of a world."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from smoothdp.services.client import taking_part
from smoothdp.services.client.client import Client
from smoothdp.services.client.outcomes import OutcomeStore
from smoothdp.services.client.submit import hand_in, prepare
from tests.services.worlds.issuing_world import WINDOW, IssuingWorld


def hasten(monkeypatch: pytest.MonkeyPatch, now: Callable[[], float], **how: Any) -> None:
    """Give `take_part` a clock, and no pauses; nobody is asked twice unless ``how`` says so."""
    how = {"attempts": 1} | how
    monkeypatch.setattr(taking_part, "Client", partial(Client, clock=now))
    for step in (prepare, hand_in):
        quick = partial(step, pause=lambda _: None, **how)
        monkeypatch.setattr(taking_part, step.__name__, quick)


def hasty_world(folder: Path, monkeypatch: pytest.MonkeyPatch, **task: Any) -> IssuingWorld:
    """Return an issuer whose time is the clock of the device too; nothing there is asked twice."""
    made = IssuingWorld(folder, **task)
    made.open_window()
    monkeypatch.setenv("XDG_STATE_HOME", str(folder / "state"))
    hasten(monkeypatch, lambda: made.now)
    return made


def state_of_me(world: IssuingWorld, window: int = WINDOW) -> str | None:
    """Return what this machine has stored of a window, if anything."""
    store = OutcomeStore.of_user()
    row = store.get(world.task.task_id, window, "me")
    store.close()
    return None if row is None else row.state


def submitting(world: IssuingWorld, shuffler: str) -> list[str]:
    """Return the command that answers 1, with its files in the folder of a world."""
    folder = world.folder
    for name, text in (("p", "0a" * 48), ("i", world.invitation())):
        (folder / name).write_text(text)
    (folder / "task.json").write_bytes(world.task.encoded)
    asked = ["submit", "1", "--task", f"{folder}/task.json", "--pass", f"{folder}/p"]
    asked += ["--invitation", f"{folder}/i", "--shuffler", shuffler]
    return [*asked, "--issuer", world.address]
