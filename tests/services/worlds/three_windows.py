"""Three windows of one task, with reports in each."""

from __future__ import annotations

from pathlib import Path

from tests.services.storages import without_waiting_for_disks
from tests.services.worlds.party_world import HOUR, WINDOW, PartyWorld
from tests.services.worlds.small_tasks import OPEN_TASK, small_task

THREE = (WINDOW, WINDOW + 1, WINDOW + 2)


def three_windows(folder: Path) -> PartyWorld:
    """Return a world in which three windows have reports, and are over."""
    world = PartyWorld(folder, small_task(**OPEN_TASK))
    without_waiting_for_disks(world.shuffler.storage)
    for window in THREE:
        world.go_to(window * HOUR + 5.0)
        world.open_window(window)
        world.send_many(12, window=window)
    world.go_to((WINDOW + 5) * HOUR)
    return world
