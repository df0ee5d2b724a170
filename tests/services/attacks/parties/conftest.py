"""Worlds of two parties for several files here."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.services.worlds.party_world import PartyWorld
from tests.services.worlds.small_tasks import open_task


@pytest.fixture
def full(tmp_path: Path) -> Iterator[PartyWorld]:
    """Yield a world whose windows hold fourteen reports."""
    world = PartyWorld(tmp_path, open_task(max_batch=14))
    world.open_window()
    yield world
    world.close()
