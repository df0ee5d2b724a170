"""Whoever was shown somebody's pass, without an account or a token: what it sees, and can do."""

from __future__ import annotations

from pathlib import Path

import pytest

from smoothdp.services.formats.report import Report
from smoothdp.services.formats.slots import seal_slots
from smoothdp.services.shuffler.ingest import Taken
from smoothdp.services.wire.calls import ServiceError
from tests.services.storages import ONLY_SQLITE
from tests.services.worlds.issuing_world import HOUR, WINDOW, IssuingWorld, Recorder, send
from tests.services.worlds.page_of_threats import on_the_page
from tests.services.worlds.party_world import PartyWorld
from tests.services.worlds.small_tasks import small_task


def garbage(world: PartyWorld) -> Report:
    """Return what anybody makes of a card: slots without one good token."""
    slots = tuple(sorted(seal_slots([1] * world.task.slots, world.card())))
    return Report(world.card().digest, slots, tuple(bytes(256) for _ in slots))


def test_the_page_says_what_a_shown_pass_is_good_for() -> None:
    assert on_the_page("or the pass was shown to it")
    assert on_the_page("Whoever has a copy of a pass sees whether its owner has sent")


@ONLY_SQLITE
def test_whoever_was_shown_a_pass_sees_whether_its_owner_has_sent(tmp_path: Path) -> None:
    world = PartyWorld(tmp_path, small_task())
    world.open_window()
    owners, others = world.new_pass(), world.new_pass()
    assert world.send(world.report(1), owners) is Taken.ACCEPTED
    world.restart()
    assert world.send(garbage(world), owners) is Taken.OTHER_REPORT
    assert world.send(garbage(world), others) is Taken.UNSIGNED
    world.close()


@ONLY_SQLITE
def test_whoever_was_shown_a_pass_keeps_its_owner_out_without_an_account(tmp_path: Path) -> None:
    """Five reports without a token, and the owner's good one is not looked at any more."""
    world = PartyWorld(tmp_path, small_task())
    world.open_window()
    owners = world.new_pass()
    for _ in range(5):
        assert world.send(garbage(world), owners) is Taken.UNSIGNED
    assert world.send(world.report(1), owners) is Taken.TOO_MANY_UNSIGNED
    world.close()


@ONLY_SQLITE
def test_who_was_kept_out_so_has_spent_a_window_of_the_budget(tmp_path: Path) -> None:
    """429 gives no place back: for all the client knows the shuffler has the report."""
    world = IssuingWorld(tmp_path, windows=1)
    world.open_window()
    shuffler, client = Recorder(world, [429]), world.client()
    with pytest.raises(ServiceError, match="were not good"):
        send(world, client, shuffler, invitation=world.invitation())
    world.go_to((WINDOW + 2) * HOUR + 5.0)
    client.settle()
    assert client.spent() == [WINDOW]
    world.close()
