"""Windows of every end, one after the other, for the same people: what each costs them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import httpx
import pytest

from smoothdp.errors import InvalidData
from smoothdp.services.analyzer.release import work
from smoothdp.services.analyzer.window_cards import GATEWAY
from smoothdp.services.client.client import Client
from smoothdp.services.formats.card import Card
from smoothdp.services.formats.design.budget import DAY, KEY_SECONDS
from smoothdp.services.formats.slots import seal_slots
from tests.services.storages import ONLY_SQLITE
from tests.services.worlds.party_world import HOUR, WINDOW
from tests.services.worlds.whole_world import LOST, WholeWorld, weak_task


class AskedWorld(WholeWorld):
    """A world whose shuffler also answers who asks for marks, as its HTTP face does."""

    def _shuffler_answers(self, request: httpx.Request) -> tuple[str, httpx.Response]:
        if request.method != "HEAD":
            return super()._shuffler_answers(request)
        window = int(request.url.path.split("/")[-1])
        if self.shuffler.is_expired(window):
            return "marks", httpx.Response(410)
        return "marks", httpx.Response(200 if self.shuffler.marks(window) else 404)

    def begin(self, window: int) -> None:
        """Let a window begin that has a card by then."""
        self.go_to(window * HOUR + 1)
        self.clocks[-1].heard(self.now)
        self.open_window(window)

    def all_take_part(self, people: Sequence[str], window: int) -> None:
        """Let people take part; all must be accepted."""
        self.client(people[0]).settle()
        assert [self.take_part(one, window=window) for one in people] == [202] * len(people)


def _means_nothing(client: Client, _datum: object, card: Card) -> tuple[bytes, ...]:
    return tuple(seal_slots([7] * client.task.slots, card))


@ONLY_SQLITE
def test_windows_of_every_end_cost_the_same_people_what_the_page_says(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The page: "a client answers in no more windows than the budget pays for; [...] windows that
    the shuffler destroyed do not count", and "a window without a result keeps its place in the
    analyser's budget for 7 days".

    A budget of three, and one window each that is quarantined, destroyed, refused, released: the
    same people have answered three, and nobody is asked a fourth time by them; others answer, and
    the ledger pays for three and no more, each once.
    """
    world = AskedWorld(tmp_path, weak_task(honest_share="0.8", min_batch=5, windows=3), fast=True)
    people = [f"person {number}" for number in range(5)]
    quarantined, destroyed, refused, released, others, late = range(WINDOW, WINDOW + 6)

    world.begin(quarantined)
    world.all_take_part(people, quarantined)
    with monkeypatch.context() as patched:
        patched.setattr(Client, "_draw", _means_nothing)
        world.all_take_part(["false 1", "false 2"], quarantined)
    said = world.end(quarantined)
    assert (said["state"], world.task.dishonest(said["accounts_served"])) == ("QUARANTINED", 1)

    world.begin(destroyed)
    world.all_take_part(people[:4], destroyed)
    assert world.end(destroyed)["state"] == "no batch"
    assert world.shuffler.is_expired(destroyed)

    world.begin(refused)
    world.all_take_part(people, refused)
    for number in range(5):
        # Served, and never heard of by the shuffler.
        silent = world.take_part(f"silent {number}", window=refused, lose=("reports request",))
        assert silent == LOST
    assert world.end(refused)["state"] == "REFUSED"

    world.begin(released)
    world.all_take_part(people, released)
    assert world.end(released)["state"] == "RELEASED"
    assert world.charged() == [released]

    # All but one were in the window that was destroyed; it counts for nobody.
    world.begin(others)
    for person in people:
        with pytest.raises(InvalidData, match="one more, after answers"):
            world.take_part(person, window=others)
        assert world.client(person).kept(others) is None
    world.all_take_part([f"other {number}" for number in range(5)], others)
    assert world.end(others)["state"] == "RELEASED"
    assert world.charged() == [released, others]

    # The place of the window that was destroyed is kept for 7 days, so none is left.
    world.go_to(late * HOUR + 1)
    offered = world.shuffler.cards.offered_key
    assert world.analyzer.cards.put_key(GATEWAY, late, offered(late)) == 404
    assert set(world.analyzer.cards.going_on()) == {destroyed}
    world.go_to((destroyed + 1) * HOUR + world.task.grace_seconds + KEY_SECONDS)
    work(world.analyzer)
    assert world.analyzer.cards.going_on() == []
    assert all(world.analyzer.cards.inner_key(at) is None for at in range(quarantined, late))

    last = int(world.now // HOUR) + 1
    world.begin(last)
    with pytest.raises(InvalidData, match="one more, after answers"):
        world.take_part(people[0], window=last)
    world.all_take_part([f"other {number}" for number in range(5)], last)
    assert world.end(last)["state"] == "RELEASED"
    assert world.charged() == [released, others, last]
    world.go_to(world.now + 30 * DAY)
    later = int(world.now // HOUR) + 1
    assert world.analyzer.cards.put_key(GATEWAY, later, offered(later)) == 404
    world.close()
