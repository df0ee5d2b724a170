"""A fifteenth round, on state: what older copies make a party say, and what is said too early."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product
from pathlib import Path

import httpx
import pytest

from smoothdp.errors import InvalidData, SmoothdpError
from smoothdp.services.analyzer.release import work
from smoothdp.services.formats.report import Report, seal_report
from smoothdp.services.formats.slot_tokens import SlotTokens
from smoothdp.services.issuer.issuer import Account
from smoothdp.services.issuer.window_keys import close_windows
from smoothdp.services.operations.clock_guard import ClockGuard, Verdict
from smoothdp.services.shuffler.sealing import seal_due, seal_window
from smoothdp.services.store.revoked import REVOKED_TABLE, Revoked, revoke
from smoothdp.services.store.storage import SqliteStorage
from tests.services.storages import ONLY_SQLITE
from tests.services.worlds.older_copies import copy_of, put_in_place
from tests.services.worlds.party_world import PartyWorld
from tests.services.worlds.small_tasks import small_task
from tests.services.worlds.whole_world import LOST, WINDOW, WholeWorld, weak_task

pytestmark = ONLY_SQLITE
DAY = 86_400


class Killed(Exception):
    """The program ends here."""


class Answering(WholeWorld):
    """A shuffler that also says, as its HTTP face does, which windows it destroyed."""

    def _shuffler_answers(self, request: httpx.Request) -> tuple[str, httpx.Response]:
        if request.method != "HEAD":
            return super()._shuffler_answers(request)
        window = int(request.url.path.split("/")[-1])
        return "marks", httpx.Response(410 if self.shuffler.is_expired(window) else 404)


def _knock_out(world: WholeWorld) -> None:
    """Let somebody who has read the store send the slot of one report with a token of its own."""
    (row,) = world.shuffler.storage.read("SELECT slots FROM pending LIMIT 1")
    slots, card = (bytes(row[0])[:52],), world.card()
    assert world.task.issuer is not None
    tokens = SlotTokens(card, issuer_name=world.task.issuer.name, origin=world.task.origin)
    request = tokens.request(slots, seed=b"x" * 32)
    account = world.issuer.admit(world.invitation_of("reader"), WINDOW, len(request))
    assert isinstance(account, Account)
    answer = world.issuer.answer(account, request)
    assert isinstance(answer, bytes)
    signatures = tokens.finalize(slots, seed=b"x" * 32, answer=answer)
    copied = Report(card.digest, slots, tuple(signatures))
    assert world.post(WINDOW, world.pass_of("reader"), seal_report(copied.encode(), card)) == 202


# ---- what is said before it is noted -------------------------------------------------------------


def test_no_window_is_said_to_be_destroyed_before_that_is_noted_beside_the_keys(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """The threat model: "The shuffler's database from an older copy is refused beside its keys from
    now, if a window that is open in it was closed since"; and "windows that the shuffler destroyed
    do not count".

    Three people are too few once a report of one of them was copied. That the window was destroyed
    was said as soon as its rows were gone, and noted beside the keys when all other windows had
    been sealed, or not at all where the program was stopped, or that file's disk was full. An older
    copy, with the three reports, was taken then, and handed them over: of a window that no client
    counts any more.
    """
    said: list[bool] = []

    def reach(point: str) -> None:
        if point == "seal: after commit" and not said:
            # Another thread answers those who look their reports up.
            said.append(world.shuffler.is_expired(WINDOW))
            raise Killed

    world = WholeWorld(tmp_path, reach=reach, fast=True)
    world.open_window()
    assert [world.take_part(person) for person in "abc"] == [202] * 3
    world.close()
    copy = copy_of(tmp_path, "shuffler.sqlite")
    world._open()
    _knock_out(world)
    world.go_to((WINDOW + 1) * world.task.window_seconds + world.task.grace_seconds)
    with pytest.raises(Killed):
        seal_window(world.shuffler, WINDOW)
    assert said == [True]
    world.close()
    put_in_place(tmp_path, "shuffler.sqlite", copy)
    with pytest.raises(InvalidData, match="it was closed since"):
        world._open()
    world.issuer.storage.close()


def test_a_charge_of_which_nothing_was_noted_had_no_result(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """The threat model: "The analyser's ledger and database from an older copy, with the file of
    its keys from now, are refused at the start, if a window was charged since".

    Not if the program was stopped between the charge and the note of it: that copy is taken. The
    result had not left, so that the one that is released then is the first.
    """
    world = WholeWorld(tmp_path, fast=True)
    world.open_window()
    assert [world.take_part(person) for person in "abcd"] == [202] * 4
    world.seal()
    close_windows(world.issuer)
    world.tell()
    world.deliver()
    world.close()
    names = (world.analyzer.ledger.path.name, "analyzer.sqlite")
    copies = {name: copy_of(tmp_path, name) for name in names}
    world._open()

    def stopped(*_: int) -> None:
        raise Killed

    monkeypatch.setattr(world.analyzer, "note_charges", stopped)
    with pytest.raises(Killed):
        work(world.analyzer)
    assert world.charged() == [WINDOW]
    assert world.result()["state"] != "RELEASED"
    world.close()
    for name, copy in copies.items():
        put_in_place(tmp_path, name, copy)
    world._open()
    assert world.charged() == []
    work(world.analyzer)
    assert (world.result()["users"], world.charged()) == (4, [WINDOW])
    world.close()


def test_who_was_revoked_is_remembered_from_the_next_round_of_work_on(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """The threat model: "A party whose list of the revoked is lost or older remembers it in its
    database; with the database lost too, whoever was revoked is let in again".

    Without the database being lost too: whoever was revoked since the last round of work, and was
    refused already, if the program is stopped before the next one and the list is lost.
    """
    storage, path = SqliteStorage(tmp_path / "state.sqlite", REVOKED_TABLE), tmp_path / "revoked"
    for goes_round in (False, True):
        who = bytes([goes_round]) * 16
        running = Revoked(path, storage, bytes(32))
        revoke(path, [who])
        assert who in running
        if goes_round:
            running.remember()
        path.unlink()
        assert (who in Revoked(path, storage, bytes(32))) is goes_round
    storage.close()


# ---- older copies --------------------------------------------------------------------------------


def test_a_shuffler_of_which_all_is_older_may_say_that_it_destroyed_what_it_handed_over(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """The threat model: "With its keys older or deleted too, a window that was handed over is
    handed over again, less what came since"; and "a client answers in no more windows than the
    budget pays for".

    If too few had come before the copy was made, it is not handed over again: it is said to be
    destroyed. The budget pays for one window, and the analyser has the answers of one person in
    two.
    """
    world = Answering(tmp_path, weak_task(windows=1), fast=True)
    world.open_window()
    assert [world.take_part(person) for person in "ab"] == [202] * 2
    world.close()
    copies = {name: copy_of(tmp_path, name) for name in ("shuffler", "gateway")}
    world._open()
    assert [world.take_part(person) for person in "cd"] == [202] * 2
    assert world.end()["users"] == 4
    world.close()
    for name, copy in copies.items():
        put_in_place(tmp_path, name, copy)
    world._open()
    # An analyser that makes cards for ever.
    world.analyzer.cards._pays = lambda *_: True  # type: ignore[method-assign]
    late = WINDOW + 3
    world.go_to(late * world.task.window_seconds + 5.0)
    world.open_window(late)
    world.client("a").settle()
    with pytest.raises(InvalidData, match="budget"):
        world.take_part("a", window=late)
    seal_due(world.shuffler)
    assert [world.take_part(person, window=late) for person in "abc"] == [202] * 3
    world.seal(late)
    world.deliver()
    assert world.analyzer.storage.read("SELECT count(*) FROM batch") == [(2,)]
    world.close()


@pytest.mark.slow
@pytest.mark.parametrize("older", [False, True])
def test_an_issuer_on_an_older_copy_says_that_fewer_were_served(
    tmp_path: Path,
    older: bool,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """The threat model: "the analyser counts everybody who was served and is missing as honest. It
    releases a batch of u users only if u - floor(gamma X) of them keep the promise"; and of older
    copies "The issuer's file from an older copy gives a second draw".

    It also forgets whom it served since: of 20 accounts 14 sent, which is refused, as two of them
    may be false. The issuer's file is put back to before the six who sent nothing: X is 14, and
    the same batch is released.
    """
    world = WholeWorld(tmp_path, small_task(min_batch=14), fast=True)
    world.open_window()
    assert [world.take_part(f"person {number}") for number in range(14)] == [202] * 14
    world.close()
    copy = copy_of(tmp_path, "issuer.sqlite")
    world._open()
    for number in range(6):
        assert world.take_part(f"silent {number}", lose=("reports request",)) == LOST
    world.close()
    if older:
        put_in_place(tmp_path, "issuer.sqlite", copy)
    world._open()
    result = world.end()
    served = {True: ("RELEASED", 14), False: ("REFUSED", 20)}
    assert (result["state"], result["accounts_served"]) == served[older]
    world.close()


NOW, OLDER, DELETED = "now", "older", "deleted"


@pytest.mark.slow
@pytest.mark.parametrize("days", [0, 31])
@pytest.mark.parametrize(("then", "after"), [(0, 4), (2, 0), (2, 4), (3, 0), (3, 4)])
def test_what_is_older_or_deleted_of_a_shuffler_in_each_combination(
    tmp_path: Path,
    then: int,
    after: int,
    days: int,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """The threat model: "The shuffler's database from an older copy is refused beside its keys from
    now, if a window that is open in it was closed since"; "with its keys older or deleted too, a
    window that was handed over is handed over again".

    Each file as it is, as it was in the open window, or gone, at once or after a month. Beside the
    keys from now no other batch of the window is offered, and nothing else is said of it.
    """
    task = weak_task(issuer=None, proof="none")
    world = PartyWorld(tmp_path, task)
    names = ("shuffler.sqlite", "gateway.sqlite")
    world.open_window()
    if then:
        world.send_many(then)
    world.close()
    copies = {OLDER: {name: copy_of(tmp_path, name) for name in names}, DELETED: {}}
    world._open()
    if after:
        world.send_many(after)
    world.seal()
    world.deliver()
    headers = {bytes(row[0]) for row in world.shuffler.storage.read("SELECT header FROM batch")}
    destroyed = world.shuffler.is_expired(WINDOW)
    assert destroyed is not bool(headers)
    world.go_to(world.now + days * DAY)
    world.shuffler.forget_old()
    world.close()
    copies[NOW] = {name: copy_of(tmp_path, name) for name in names}
    second = set()
    for combination in product((NOW, OLDER, DELETED), repeat=2):
        for name, which in zip(names, combination, strict=True):
            put_in_place(tmp_path, name, copies[which].get(name, {}))
        try:
            world._open()
        except SmoothdpError:
            assert combination == (OLDER, NOW)
            continue
        world.offers.clear()
        world.seal()
        world.shuffler.cards.note_over()
        try:
            world.deliver()
        except (SmoothdpError, OSError):
            assert OLDER in combination
        offered = {body for path, body in world.offers if path.count("/") == 3}
        said = world.shuffler.is_expired(WINDOW)
        if offered - headers or said > destroyed:
            second.add(combination)
        world.close()
    assert second == (set() if destroyed else {(OLDER, OLDER), (OLDER, DELETED)})


# ---- clocks --------------------------------------------------------------------------------------

SET, LATER = "set", "later"
EVENTS = (SET, LATER, "S starts", "A starts", "I starts", "S calls", "I calls")
CLOSE, AHEAD = 8_000.0, 172_800.0


def _closes_early(events: Iterable[str], wrong: str) -> bool:
    """Whether a party closes before the time, the clocks of some being set two days ahead."""
    now, off = 1_000.0, dict.fromkeys("SAI", 0.0)

    def started(party: str) -> ClockGuard:
        return ClockGuard(wall=lambda: now + off[party], boot=lambda: now)

    guards = {party: started(party) for party in "SAI"}
    for event in events:
        party = event[0]
        if event == SET:
            off |= {one: AHEAD - off[one] for one in wrong}
        elif event == LATER:
            now += 30
        elif event.endswith("starts"):
            guards[party] = started(party)
        elif (told := guards[party].to_tell()) is not None:
            if party == "S":
                guards["A"].heard(told)
            answer = guards["A"].to_tell()
            if answer is not None and (party == "S" or guards["A"].hold() is None):
                guards[party].heard(answer)
        if any(guard.verdict(CLOSE) is Verdict.CLOSE for guard in guards.values()):
            return True
    return False


@pytest.mark.parametrize(
    ("wrong", "never_starts", "early"),
    [
        ("S", "", False),
        ("A", "", False),
        ("SI", "", False),
        ("AI", "", False),
        ("SAI", "S", False),
        ("SAI", "A", False),
        # Wrong everywhere from the start.
        ("SAI", "", True),
    ],
)
def test_no_four_events_of_parties_and_clocks_close_early_but_with_all_wrong_from_the_start(
    wrong: str,
    never_starts: str,
    early: bool,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """The threat model: "shuffler and analyser must agree, the issuer with both, and no clock may
    have been set since the start; one that was is told to nobody"; and "Clocks that are wrong
    everywhere from the start".

    Every order of clocks that are set and set back, starts, calls and time.
    """
    events = [event for event in EVENTS if event != f"{never_starts} starts"]
    assert any(_closes_early(order, wrong) for order in product(events, repeat=4)) is early
