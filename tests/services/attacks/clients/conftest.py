"""Worlds of an issuer, and somebody who listens, for all files here."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.services.worlds.issuing_world import IssuingWorld
from tests.services.worlds.listener import Listener
from tests.services.worlds.quick_clients import hasty_world


@pytest.fixture
def world(tmp_path: Path) -> Iterator[IssuingWorld]:
    """Yield an issuer with an open window; clients are given its time."""
    made = IssuingWorld(tmp_path)
    made.open_window()
    yield made
    made.close()


@pytest.fixture
def quick_world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[IssuingWorld]:
    """Yield one whose time is the clock of `take_part` too, which asks nobody twice."""
    made = hasty_world(tmp_path, monkeypatch)
    yield made
    made.close()


@pytest.fixture
def listen() -> Iterator[Callable[[Callable[[socket.socket], None]], Listener]]:
    """Start somebody who listens and answers as they are told."""
    made: list[Listener] = []

    def start(answer: Callable[[socket.socket], None]) -> Listener:
        made.append(Listener(answer))
        return made[-1]

    yield start
    for each in made:
        each.close()
