"""The table of who can do what, tried again: what is assumed of users, and of whom it is counted."""

from __future__ import annotations

from pathlib import Path

import pytest

from smoothdp.services.formats.slots import open_slot
from tests.services.storages import ONLY_SQLITE
from tests.services.worlds.party_world import WINDOW
from tests.services.worlds.small_tasks import small_task
from tests.services.worlds.whole_world import WholeWorld

pytestmark = ONLY_SQLITE


def test_what_the_analyser_sees_keeps_the_promise_if_so_many_of_those_served_are_with_it(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """The share gamma of those *served*, present or not, is with the analyser, as is assumed.

    The shuffler is honest, and hands over the smallest batch without knowing how many were
    served. The rule refuses to release it, but the analyser has seen it.
    """
    task = small_task(epsilon="1", delta="0.01", min_batch=20, honest_share="0.5")
    world = WholeWorld(tmp_path, task, fast=True)
    world.open_window()
    league = [f"league {n}" for n in range(19)]
    for person in [*league, "alone"]:
        assert world.take_part(person) == 202
    for n in range(20):
        # They are served, and do not reach the shuffler: the fault is the network's.
        world.take_part(f"served {n}", lose=("reports request",))
    served = 40
    assert len(league) <= task.dishonest(served)
    key, card = world.analyzer.cards.inner_key(WINDOW), world.card()
    assert key is not None
    known = {slot for person in league for slot in world.report_of(person).slots}
    document = world.end()
    assert (document["state"], document["accounts_served"]) == ("REFUSED", served)
    part = next(body for path, body in world.offers if "/parts/" in path)
    slots = [part[at : at + 52] for at in range(0, len(part), 52 + 256)]
    others = [open_slot(slot, card, key) for slot in slots if slot not in known]
    assert task.keeps_promise(len(others)), f"the analyser sees {len(others)} honest user alone"
    world.close()
