"""Windows without a result: wasted, denied or destroyed, and what clients are told of them.

(proofs/marks-and-erasure#5)
"""

from __future__ import annotations

from pathlib import Path

import pytest

from smoothdp.errors import InvalidData
from smoothdp.services.analyzer.release import work
from smoothdp.services.client.client import Client
from smoothdp.services.client.outcomes import OutcomeStore
from smoothdp.services.client.submit import submit
from smoothdp.services.formats.design.budget import KEY_SECONDS, windows_paid
from smoothdp.services.issuer.window_keys import close_windows
from smoothdp.services.shuffler.delivery import deliver_batches
from smoothdp.services.shuffler.shuffler_web import shuffler_app
from smoothdp.services.wire.calls import connect
from smoothdp.services.wire.running import on_loopback
from tests.services.storages import ONLY_SQLITE
from tests.services.worlds.page_of_threats import on_the_page
from tests.services.worlds.party_world import DAY, HOUR, WINDOW, PartyWorld
from tests.services.worlds.people import PEOPLE
from tests.services.worlds.small_tasks import OPEN_TASK, small_task
from tests.services.worlds.whole_world import WholeWorld, weak_task


@ONLY_SQLITE
@pytest.mark.parametrize("paid", [1, 3])
@pytest.mark.parametrize("hands_over", ["nothing", "too few people"])
def test_windows_that_a_shuffler_wastes_are_lost_to_clients_for_good(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
    hands_over: str,
    paid: int,
) -> None:
    """The page: "A shuffler that hands over nothing, or too few people, stops a task with a short
    budget: a window without a result keeps its place in it for 7 days."

    It says 202 to all and hands over nothing, or so few that the rule refuses them, in as many
    windows as the budget pays for. Months later nothing is charged, and the analyser makes cards
    again; but clients count these windows, and nobody answers ever again.
    """
    task = weak_task(windows=paid, honest_share="0.5", min_batch=4)
    world = WholeWorld(tmp_path, task, fast=True)
    for window in range(WINDOW, WINDOW + paid):
        world.go_to(window * HOUR + 700)
        world.clocks[-1].heard(world.now)
        world.open_window(window)
        for person in PEOPLE:
            assert world.take_part(person, window=window) == 202
        if hands_over == "too few people":
            # Of six that were served four.
            with world.shuffler.storage.transaction() as change:
                change.change(
                    "DELETE FROM pending WHERE sender_tag IN (SELECT sender_tag FROM pending "
                    "WHERE window = ? LIMIT 2)",
                    (window,),
                )
            world.seal(window)
            close_windows(world.issuer)
            world.tell()
            world.deliver()
            work(world.analyzer)
            assert world.result(window)["state"] == "REFUSED"

    later = WINDOW + 24 * 90
    world.go_to(later * HOUR + 700)
    world.clocks[-1].heard(world.now)
    assert world.now > (WINDOW + paid + 1) * HOUR + KEY_SECONDS
    work(world.analyzer)
    world.open_window(later)  # the analyser's budget pays for it
    assert (world.charged(), windows_paid(world.task)) == ([], paid)
    for person in PEOPLE:
        world.client(person).settle()
        with pytest.raises(InvalidData, match="that the budget of the task pays for"):
            world.client(person).take_part(1, card=world.issuer.card(later) or b"", window=later)
    world.close()
    assert on_the_page("and with each client that answered in it for good")


@ONLY_SQLITE
def test_that_a_window_was_destroyed_is_said_for_ever(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """A client asks only when its budget is used up, and that may be months later."""
    task = small_task(**OPEN_TASK, windows=2)
    world = PartyWorld(tmp_path, task)
    world.analyzer.cards._pays = lambda *_: True  # type: ignore[method-assign]
    store, mine = OutcomeStore(tmp_path / "windows.sqlite"), world.new_pass()
    with on_loopback(shuffler_app(world.shuffler)) as address, connect(address) as http:

        def take_part(window: int) -> None:
            world.go_to(window * HOUR + 5.0)
            world.open_window(window)
            client = Client(task, store, clock=lambda: world.now)
            client.settle()
            submit(client, 1, shuffler=http, pass_secret=mine, window=window, attempts=1)
            world.seal(window)

        for days in (0, 31, 62, 93):
            take_part(WINDOW + 24 * days)
            world.shuffler.forget_old()
        path = f"/v2/tasks/{task.task_id.hex()}/marks/{WINDOW}"
        assert http.get(path).status_code == 410
    # Of what was destroyed nothing else stays.
    assert world.shuffler.totals()["expired"] == 1
    store.close()
    world.close()


@ONLY_SQLITE
def test_a_batch_that_the_analyser_has_and_never_acknowledged_was_not_destroyed(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """It takes every part and answers 503 to the last one until the shuffler drops the batch.

    Were that window said to be destroyed, each person would answer in one more than the budget
    pays for.
    """
    world = WholeWorld(tmp_path, fast=True)
    world.open_window()
    for person in range(4):
        assert world.take_part(f"person {person}") == 202
    world.seal()

    def put(path: str, body: bytes) -> int:
        status = world.put(path, body)
        return 503 if "/parts/" in path else status

    with pytest.raises(OSError, match="503"):
        deliver_batches(world.shuffler, put)
    assert world.analyzer.batch_states() == {"COMPLETE": 1}
    assert not world.shuffler.is_expired(WINDOW)
    world.go_to(world.now + 31 * DAY)
    world.shuffler.forget_old()
    assert world.shuffler.batch_states() == {"DROPPED": 1}
    assert not world.shuffler.is_expired(WINDOW)
    client = world.client("person 0")
    client.settle()
    store = world.stores["clients"]
    assert store.windows(world.task.task_id, "person 0") == [WINDOW]
    world.close()
