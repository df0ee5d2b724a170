"""A thief of a device in an open window: what it does with the report that is there."""

from __future__ import annotations

from pathlib import Path

from smoothdp.services.client.inclusion import Standing
from smoothdp.services.formats.report import Report, seal_report
from smoothdp.services.formats.slots import SLOT_BYTES
from smoothdp.services.shuffler.ingest import Taken
from tests.services.storages import ONLY_SQLITE
from tests.services.worlds.page_of_threats import on_the_page
from tests.services.worlds.party_world import ENOUGH, WINDOW, PartyWorld, issuer_key
from tests.services.worlds.signed_reports import signed_report
from tests.services.worlds.small_tasks import small_task
from tests.services.worlds.whole_world import WholeWorld


@ONLY_SQLITE
def test_a_thief_of_the_device_in_an_open_window_has_its_owner_left_out_after_202(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """The report is there in the clear: with a pass and a token of its own for a slot of it the
    thief has both left out, as reports that share slots are. The look-up says that it may be so.
    """
    assert on_the_page("it has the owner's left out after its 202")
    assert "or somebody had a copy" in Standing.LEFT_OUT.value
    world = PartyWorld(tmp_path)
    card = world.open_window()
    world.send_many(ENOUGH)
    owner = world.report(1)
    assert world.send(owner) is Taken.ACCEPTED
    # A seed of its own: another token for the same slot.
    copy = signed_report(world.task, card, owner.slots, issuer_key(), seed=b"t" * 32)
    assert world.send(copy) is Taken.ACCEPTED
    (sealed,) = world.seal()
    world.close()
    assert (sealed.users, sealed.shared) == (ENOUGH, 2)


@ONLY_SQLITE
def test_a_thief_of_two_devices_has_both_owners_left_out_with_a_pass_alone(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """Where M is above 1 no token of its own is needed: those of the two are on the slots."""
    assert on_the_page("none, of two devices and M above 1")
    task = small_task("real_sum", size=4, epsilon="60", min_batch=3, honest_share="1")
    world = WholeWorld(tmp_path, task, fast=True)
    card = world.open_window()
    for person in range(6):
        assert world.take_part(f"person {person}", 0.5) == 202
    two = [world.report_of(f"person {person}").records for person in (0, 1)]
    records = sorted([*two[0][:2], *two[1][:2]])
    mixed = Report(
        card.digest,
        tuple(record[:SLOT_BYTES] for record in records),
        tuple(record[SLOT_BYTES:] for record in records),
    )
    assert world.post(WINDOW, world.pass_of("thief"), seal_report(mixed.encode(), card)) == 202
    (sealed,) = world.seal()
    world.close()
    assert (sealed.users, sealed.shared) == (4, 3)
