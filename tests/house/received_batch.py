"""A directory of an analyser that has received a batch, as a page of the documents expects it."""

from __future__ import annotations

from pathlib import Path

from smoothdp.services.wire.envelope import DUMMY, seal_values

from smoothdp.services import AnalyzerParty, write_parties
from tests.services.world import KEY, small_task


def write_received_batch(directory: Path, window: int) -> None:
    """Write the parties of a small task into a directory, with one batch of one part."""
    task = small_task("histogram")
    party = AnalyzerParty.from_directory(write_parties(directory, task, KEY).analyzer)
    slots = seal_values([0, 1, 2, DUMMY] * 8, key=KEY.public, task_id=task.task_id, window=window)
    storage, name = party.analyzer.storage, bytes(16)
    with storage.transaction() as change:
        change.change(
            "INSERT INTO batch (batch_id, task_id, window, header, state) VALUES (?, ?, ?, ?, ?)",
            (name, task.task_id, window, b"", "RECEIVING"),
        )
        change.change(
            "INSERT INTO part (batch_id, part, bytes) VALUES (?, ?, ?)", (name, 0, b"".join(slots))
        )
    storage.close()
