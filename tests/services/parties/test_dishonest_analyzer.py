"""An analyser that invents people, or gives tokens to few, has no batch without passes."""

from __future__ import annotations

from pathlib import Path

from smoothdp.services.formats.secrets import Secret
from smoothdp.services.shuffler.ingest import Taken
from tests.services.worlds.party_world import PASS_KEY, WINDOW, PartyWorld

USERS = 12


def test_without_passes_one_person_alone_is_no_batch(tmp_path: Path) -> None:
    """It gives tokens to one person and to all that it invents, who have no passes."""
    world = PartyWorld(tmp_path)
    world.open_window()
    task_id = world.task.task_id
    assert world.send(world.report(1)) is Taken.ACCEPTED
    for number in range(USERS - 1):
        # Under a key of its own, or an invitation in the place of a pass.
        forged = Secret.issue(b"a" * 32, use="pass", task_id=task_id)
        invited = Secret.issue(PASS_KEY, use="invitation", task_id=task_id)
        secret = (forged, invited)[number % 2].text
        assert world.send(world.report(0), secret) is Taken.UNAUTHORIZED
    (sealed,) = world.seal()
    assert (sealed.state, sealed.users) == ("EXPIRED", 1)
    assert world.deliver() == 0
    assert world.result(WINDOW)["state"] == "no batch"
    world.close()


def test_one_pass_sends_one_report_whoever_gives_tokens(tmp_path: Path) -> None:
    """With passes for all but one of the smallest batch it singles out, as the sentence says."""
    world = PartyWorld(tmp_path)
    world.open_window()
    own = [world.new_pass() for _ in range(USERS - 2)]
    assert world.send(world.report(1)) is Taken.ACCEPTED
    for secret in own:
        assert world.send(world.report(0), secret) is Taken.ACCEPTED
        assert world.send(world.report(0), secret) is Taken.OTHER_REPORT
    # One less than the smallest batch so far; with this pass, its last, there is a batch.
    assert world.send(world.report(0)) is Taken.ACCEPTED
    document = world.finish(USERS)
    assert document["users"] == USERS
    assert f"an analyser with {USERS - 1} passes" in document["sentence"]
    world.close()
