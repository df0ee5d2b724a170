"""From card to released share: the parties on files, and what is left on disk afterwards."""

from __future__ import annotations

from pathlib import Path

from smoothdp.services.formats.marks import MarksFile, mark_of
from tests.services.worlds.party_world import PartyWorld


def test_a_share_is_released(tmp_path: Path) -> None:
    world = PartyWorld(tmp_path)
    world.open_window()
    reports = [world.report(person % 2) for person in range(14)]
    for report in reports:
        assert world.send(report).value == 202
    document = world.finish(accounts=14)
    assert document["state"] == "RELEASED", document
    assert document["users"] == 14
    assert document["accounts_served"] == 14
    marks = MarksFile.decode(world.shuffler.marks(1000) or b"")
    assert all(mark_of(slot) in marks for report in reports for slot in report.slots)
    assert marks.sha256.hex() == document["marks_sha256"]
    print(document["sentence"])
    world.close()
