"""A client answers in no more windows than its task's budget pays for, whatever cards there are."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from smoothdp.errors import InvalidData
from smoothdp.services.client.client import Client
from smoothdp.services.client.inclusion import Standing, look_up
from smoothdp.services.client.outcomes import OutcomeStore
from smoothdp.services.client.submit import submit
from smoothdp.services.formats.batch import BatchHeader
from smoothdp.services.formats.design.budget import windows_paid
from smoothdp.services.formats.marks import MarksFile
from smoothdp.services.formats.result import SignedResult
from smoothdp.services.formats.signing import SigningKey
from smoothdp.services.shuffler.shuffler_web import shuffler_app
from smoothdp.services.wire.calls import connect
from smoothdp.services.wire.running import on_loopback
from tests.services.storages import ONLY_SQLITE
from tests.services.worlds.party_world import WINDOW, PartyWorld
from tests.services.worlds.small_tasks import ANALYZER_SIGN, SHUFFLER_SIGN, small_task

SPENT = "that the budget of the task pays for: it pays for 2; got one more, after answers drawn for"
HOUR = 3600
# The analyser's own rule on cards is off: its budget is larger than the one that clients know.
TASK = small_task(issuer=None, proof="none", windows=2)
pytestmark = ONLY_SQLITE


class Excess(PartyWorld):
    """An analyser that makes cards for ever."""

    store: OutcomeStore

    def signed_card(self, window: int) -> bytes:
        self.analyzer.cards._pays = lambda *_: True  # type: ignore[method-assign]
        self.open_window(window)
        stored = self.shuffler.cards.stored(window)
        assert stored is not None
        return stored

    def client(self, name: str = "me") -> Client:
        return Client(self.task, self.store, name=name, clock=lambda: self.now)

    def answer(self, window: int, name: str = "me", *, sent: bool = True) -> None:
        """Take part in a window to come, from its begin on."""
        client, card = self.client(name), self.signed_card(window)
        self.go_to(window * HOUR + 5.0)
        client.settle()
        client.take_part(1, card=card, window=window)
        if sent:
            client.accepted(window)


@pytest.fixture
def world(tmp_path: Path, storage_kind: str) -> Iterator[Excess]:  # noqa: ARG001
    made = Excess(tmp_path, TASK)
    made.store = OutcomeStore(tmp_path / "windows.sqlite")
    assert windows_paid(TASK) == 2
    yield made
    made.store.close()
    made.close()


def test_a_card_more_than_the_budget_pays_for_is_not_answered(world: Excess) -> None:
    world.answer(WINDOW)
    world.answer(WINDOW + 1, sent=False)  # it may have arrived
    for window in (WINDOW + 2, WINDOW + 9):
        with pytest.raises(InvalidData, match=f"{SPENT} windows 1000, 1001"):
            world.answer(window)
        assert world.client().kept(window) is None
    # What was begun may be repeated, and another person has a budget of its own.
    assert world.client().kept(WINDOW + 1) is not None
    world.answer(WINDOW + 10, "you")


def test_two_programs_at_once_find_the_room_of_one(world: Excess) -> None:
    world.answer(WINDOW)
    cards = {window: world.signed_card(window) for window in (WINDOW + 1, WINDOW + 2)}
    world.go_to((WINDOW + 2) * HOUR - 1.0)  # each is near enough to take part in

    def draw(window: int) -> bool:
        try:
            world.client().take_part(1, card=cards[window], window=window)
        except InvalidData as error:
            return SPENT not in str(error)
        return True

    with ThreadPoolExecutor(2) as both:
        assert sorted(both.map(draw, cards)) == [False, True]


def test_windows_in_which_nothing_was_sent_do_not_count(tmp_path: Path) -> None:
    """Drawn and over, or refused tokens: nothing that was sent can be opened by anybody."""
    store = OutcomeStore(tmp_path / "windows.sqlite")
    drawn: dict[str, Any] = {"card_digest": b"d", "slots": b"s", "seed": b"r", "most": 2}
    for window in (1, 2):
        assert store.keep(b"t", window, "me", **drawn)
    assert store.keep(b"t", 3, "me", **drawn) is None
    store.keep_end(b"t", 1, "me")
    assert store.keep(b"t", 3, "me", **drawn)
    assert store.keep(b"t", 4, "me", **drawn) is None
    store.keep_marks(b"t", 2, "me", b"")  # drawn, never sent, over
    assert store.keep(b"t", 4, "me", **drawn)
    assert store.windows(b"t", "me") == [3, 4]
    # A window that may still be sent is not taken off by a word about another time.
    store.keep_destroyed(b"t", 3, "me")
    assert store.windows(b"t", "me") == [3, 4]
    store.close()


def test_a_window_that_the_shuffler_destroyed_does_not_count(world: Excess) -> None:
    """Too few people: the shuffler's word, over HTTP, to whoever asks the same question."""
    with on_loopback(shuffler_app(world.shuffler)) as address, connect(address) as http:
        mine, path = world.new_pass(), f"/v2/tasks/{TASK.task_id.hex()}/marks"

        def take_part(window: int) -> None:
            world.signed_card(window)
            world.go_to(window * HOUR + 5.0)
            client = world.client()
            client.settle()
            submit(client, 1, shuffler=http, pass_secret=mine, window=window, attempts=1)

        take_part(WINDOW)
        take_part(WINDOW + 1)
        assert http.get(f"{path}/{WINDOW}").status_code == 404  # not sealed yet
        with pytest.raises(InvalidData, match=SPENT):
            take_part(WINDOW + 2)
        world.seal(WINDOW)
        assert world.shuffler.totals()["expired"] == 1
        gone = http.get(f"{path}/{WINDOW}")
        assert (gone.status_code, gone.json()["title"][:14]) == (410, "Too few people")
        take_part(WINDOW + 2)
        assert world.client().kept(WINDOW).state.endswith("destroyed")  # type: ignore[union-attr]
        # The next one is one too many again, until that one is destroyed too.
        with pytest.raises(InvalidData, match=f"{SPENT} windows 1001, 1002"):
            take_part(WINDOW + 3)


def test_a_batch_of_a_window_that_was_said_to_be_destroyed(world: Excess) -> None:
    world.answer(WINDOW)
    world.go_to((WINDOW + 2) * HOUR)
    world.client().settle()
    world.client().destroyed(WINDOW)
    kept = world.client().kept(WINDOW)
    assert kept is not None
    file = MarksFile(kept.card_digest, kept.marks)
    header = BatchHeader(False, kept.card_digest, bytes(16), 1, 1, (bytes(32),), file.sha256)
    said = look_up(
        TASK,
        WINDOW,
        kept,
        result=_result(header, file, ANALYZER_SIGN),
        marks=file.encode(),
    )
    assert said is Standing.DESTROYED


def _result(header: BatchHeader, file: MarksFile, key: SigningKey) -> bytes:
    document = {
        "task_id": TASK.task_id.hex(),
        "window": WINDOW,
        "card_digest": header.card_digest.hex(),
        "marks_sha256": file.sha256.hex(),
        "batch_header": header.sign(SHUFFLER_SIGN).encode().hex(),
    }
    return SignedResult.sign(document, key).encode()
