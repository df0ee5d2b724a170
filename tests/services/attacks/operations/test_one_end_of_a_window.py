"""State and time of the three parties: what is told before it is noted, and one fault at a time."""

from __future__ import annotations

import sqlite3
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any

import pytest

from smoothdp.errors import InvalidData, LedgerError
from smoothdp.services.analyzer import release
from smoothdp.services.analyzer.release import read_result
from smoothdp.services.formats import batch
from smoothdp.services.formats.served import Served
from smoothdp.services.formats.slot_tokens import SlotTokens
from smoothdp.services.formats.slots import seal_slots
from smoothdp.services.issuer.issuer import Issuer
from smoothdp.services.issuer.issuer_tables import ISSUER_SCHEMA
from smoothdp.services.issuer.window_keys import close_windows, unsent
from smoothdp.services.shuffler.delivery import deliver_batches
from smoothdp.services.shuffler.sealing import seal_due, seal_window
from smoothdp.services.shuffler.shuffler import Shuffler
from smoothdp.services.store.erasable_keys import ErasableKeys
from smoothdp.services.store.revoked import Revoked
from smoothdp.services.store.storage import SqliteStorage, StorageFull, StorageLocked, Transaction
from smoothdp.services.wire.problems import Problem
from tests.services.storages import ONLY_SQLITE, without_waiting_for_disks
from tests.services.worlds.older_copies import copy_of, put_in_place
from tests.services.worlds.page_of_threats import PAGE
from tests.services.worlds.party_world import DAY, HOUR, WINDOW, PartyWorld
from tests.services.worlds.second_processes import second_analyzer, second_shuffler
from tests.services.worlds.small_tasks import ISSUER_SIGN, open_task, small_task
from tests.services.worlds.stopped import Stopped
from tests.services.worlds.whole_world import INVITATION_KEY, WholeWorld, weak_task

KINDS = ("locked", "full", "undone", "done", "stopped", "stopped inside", "stopped after")


class Fault:
    """One fault, at a reading or a transaction of any storage, some of them from now."""

    def __init__(self, chance: Random, monkeypatch: pytest.MonkeyPatch) -> None:
        self._chance, self._left, self._kind = chance, -1, ""
        transaction, read = SqliteStorage.transaction, SqliteStorage.read

        @contextmanager
        def changing(storage: SqliteStorage) -> Iterator[Transaction]:
            kind = self._now()
            if kind == "locked":
                raise StorageLocked(expected="a file", got="a lock", remedy="Wait")
            if kind in ("full", "stopped"):
                raise StorageFull("full") if kind == "full" else Stopped
            with transaction(storage) as change:
                yield change
                if kind == "undone":
                    raise sqlite3.OperationalError("disk I/O error")
                if kind == "stopped inside":
                    raise Stopped
            if kind == "done":
                raise sqlite3.OperationalError("disk I/O error")
            if kind == "stopped after":
                raise Stopped

        def reading(storage: SqliteStorage, *values: Any) -> list[tuple[Any, ...]]:
            if kind := self._now():
                stopped = kind.startswith("stopped")
                raise Stopped if stopped else sqlite3.OperationalError("disk I/O error")
            return read(storage, *values)

        monkeypatch.setattr(SqliteStorage, "transaction", changing)
        monkeypatch.setattr(SqliteStorage, "read", reading)

    def _now(self) -> str:
        self._left -= self._left >= 0
        kind, self._kind = (self._kind, "") if self._left < 0 else ("", self._kind)
        return kind

    def within(self, step: Callable[[], object], *, of: int) -> bool:
        """Do a step in which something fails, perhaps; return whether its process was stopped."""
        if self._chance.random() < 0.4:
            self._left, self._kind = self._chance.randrange(1, of), self._chance.choice(KINDS)
        try:
            step()
        except Stopped:
            return True
        except Exception:
            return False
        finally:
            self._left, self._kind = -1, ""
        return False


@ONLY_SQLITE
def test_where_the_ledger_is_lost_it_is_said_that_keys_are_left(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """The protocol, 2: an inner key is destroyed "at the window's end", "else 7 days after end +
    grace, also if A's database has lost the card; a day later if the window cannot be ended then";
    the guide, of a lost ledger: "Without a copy of the ledger that has all charges the task is
    over: make a new one".

    An analyser that runs on without its ledger erases its keys. One that is started again, as a
    machine does that was switched off and on, is refused each time, and nothing else erases the
    keys of the windows that went on: it and the guide tell to overwrite them.
    """
    world = PartyWorld(tmp_path, small_task())
    world.open_window()
    world.open_window(WINDOW + 1)
    world.send_many(13)
    assert world.finish(13)["state"] == "RELEASED"
    world.close()
    for path in tmp_path.glob("ledger-*"):
        path.unlink()
    world.now += 10 * DAY
    with pytest.raises(LedgerError, match="overwrite its directory"):
        world._open()
    keys = ErasableKeys(tmp_path / "inner.sqlite")
    left = keys.scopes()
    keys.close()
    assert left
    guide = PAGE.parent.joinpath("how-to", "run-services.md").read_text(encoding="utf-8")
    said = guide.split("the task is over: make a new one.")[1][:300]
    assert "overwrite the analyser's directory" in " ".join(said.split())


@ONLY_SQLITE
def test_no_marks_are_shown_before_it_is_noted_beside_the_keys_that_a_window_is_over(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """The threat model: "The shuffler's database from an older copy is refused beside its keys from
    now, if a window that is open in it was closed since"; the protocol, 9: the marks are
    `immutable`.

    They are shown as soon as the window is sealed, and also while the file of the keys cannot be
    written, so that nothing is noted (that file is on a full disk, the database on a server). An
    older copy is taken then, and shows other marks of the same window.
    """
    shown: list[bytes | None] = []

    def reach(point: str) -> None:
        if point == "seal: after commit" and not shown:
            # Another thread answers those who look their reports up.
            shown.append(world.shuffler.marks(WINDOW))
            raise Stopped

    world = PartyWorld(tmp_path, open_task(), reach=reach)
    world.open_window()
    world.send_many(13)
    world.close()
    copy = copy_of(tmp_path, "shuffler.sqlite")
    world._open()
    world.send_many(1)
    world.go_to((WINDOW + 1) * HOUR + world.task.grace_seconds)
    with pytest.raises(Stopped):
        seal_window(world.shuffler, WINDOW)
    world.close()
    put_in_place(tmp_path, "shuffler.sqlite", copy)
    try:
        world._open()
    except InvalidData:
        return
    seal_due(world.shuffler)
    again = world.shuffler.marks(WINDOW)
    world.close()
    assert shown in ([again], [None]), "two files of marks of one window"


@ONLY_SQLITE
def test_a_window_that_was_refused_is_not_released_by_an_older_copy_of_the_database(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """The protocol, 7: "RELEASED, REFUSED, QUARANTINED are final"; the threat model lists what an
    older copy of the analyser's database costs beside the ledger and the keys from now, and has
    no second end among it.

    The issuer is away for a week, and the window is refused, signed. Then the database is an older
    copy, as of a server that failed over, and the issuer is back and tells its number.
    """
    world = PartyWorld(tmp_path, small_task())
    world.open_window()
    world.send_many(13)
    world.seal()
    world.deliver()
    release.work(world.analyzer)
    ended = _ended_and_put_back(world, days=7)
    assert ended[0] == 403
    assert world.tell_served(13) == 201
    release.work(world.analyzer)
    again = read_result(world.analyzer, WINDOW, now=world.now)
    world.close()
    assert again[0] == 202 or again == ended, "a second signed end of one window"


@ONLY_SQLITE
def test_a_window_that_was_quarantined_has_no_other_end_on_an_older_copy_of_the_database(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """The protocol, 7: "RELEASED, REFUSED, QUARANTINED are final. A batch that is not released has
    a signed statement with its reason and the evidence": of more users than were served, say.

    The database alone is an older copy. Seven days later the same batch is signed as REFUSED, for
    a key of the analyser's that was lost, and without the evidence.
    """
    world = PartyWorld(tmp_path, small_task())
    world.open_window()
    world.send_many(13)
    world.seal()
    world.deliver()
    assert world.tell_served(12) == 201
    ended = _ended_and_put_back(world, days=0)
    assert (ended[0], b"QUARANTINED" in ended[1]) == (403, True)
    world.go_to(world.now + 7 * DAY + 1)
    release.work(world.analyzer)
    again = read_result(world.analyzer, WINDOW, now=world.now)
    world.close()
    assert again[0] == 202 or again == ended, "a second signed end of one window"


def _ended_and_put_back(world: PartyWorld, *, days: int) -> tuple[int, bytes]:
    """Let a window end some days from now, and put the analyser's database of now back."""
    world.close()
    copy = copy_of(world.folder, "analyzer.sqlite")
    world._open()
    world.go_to(world.now + days * DAY + 1)
    release.work(world.analyzer)
    ended = read_result(world.analyzer, WINDOW, now=world.now)
    world.close()
    put_in_place(world.folder, "analyzer.sqlite", copy)
    world._open()
    return ended


@ONLY_SQLITE
@pytest.mark.parametrize("seed", range(8))
def test_two_analysers_about_the_seventh_day_with_a_fault_in_each_step_sign_one_end(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    seed: int,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """The protocol, 7: "RELEASED, REFUSED, QUARANTINED are final"; "charge the ledger once for this
    window and its batch"; "Tallies are deleted with the end"; 2: the inner key goes.
    """
    chance = Random(seed)
    monkeypatch.setattr(batch, "PART_RECORDS", 2)
    world = PartyWorld(tmp_path, weak_task())
    world.open_window()
    world.send_many(3)
    world.seal()
    offers, end = list[tuple[str, bytes]](), world.now

    def kept(path: str, body: bytes) -> int:
        offers.append((path, body))
        return 201

    deliver_batches(world.shuffler, kept)
    said = Served(world.card().digest, chance.choice((2, 3, 3))).sign(ISSUER_SIGN).encode()
    others, ends = [second_analyzer(world)], set[tuple[int, bytes]]()
    fault = Fault(chance, monkeypatch)

    def one() -> Any:
        return chance.choice((world.analyzer, others[0]))

    def put() -> None:
        path, body = chance.choice(offers)
        _, _, _, name, *part = path.split("/")
        if part:
            one().put_part(bytes.fromhex(name), int(part[1]), body)
        else:
            one().put_batch(bytes.fromhex(name), body)

    def look() -> None:
        status, body = read_result(one(), WINDOW, now=world.now)
        ends.update({(status, body)} if status != 202 else ())

    def later() -> None:
        world.go_to(max(world.now, end + chance.choice((0, 6.99, 7, 7.99)) * DAY))

    def restart() -> None:
        others[0].storage.close()
        others[0].keys.close()
        world.restart()
        others[0] = second_analyzer(world)

    steps: list[Callable[[], object]] = [
        *[put] * 8,
        *[lambda: one().put_served(WINDOW, said), lambda: release.work(one())] * 2,
        *(look, look, later, lambda: world.clocks[1].heard(world.now - 120), restart),
    ]
    for _ in range(30):
        step = chance.choice(steps)
        if step is restart or fault.within(step, of=30):
            restart()
        world.clocks[1].heard(world.now)
    for days in (0, 8.5, 10.5):
        world.go_to(max(world.now, end + days * DAY))
        release.work(world.analyzer)
        release.work(others[0])
        look()
    tallies = world.analyzer.storage.read("SELECT count(*) FROM counts")
    left, charged = world.keys[1].scopes(), world.charged()
    others[0].storage.close()
    others[0].keys.close()
    world.close()
    assert len(ends) <= 1
    assert (left, tallies) == ([], [(0,)])
    assert charged == [WINDOW] * any(status == 200 for status, _ in ends)


@ONLY_SQLITE
@pytest.mark.parametrize("seed", range(4))
def test_two_issuers_with_a_fault_in_each_step_sign_one_request_of_an_account_and_count_it(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    seed: int,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """The protocol, 6: "Commit before signing any of them"; "other hash: 409"; "store `served`
    with X = number of rows, signed; erase key, tag key, rows", in one transaction.
    """
    chance = Random(seed)
    world = WholeWorld(tmp_path, fast=True)
    card = world.open_window()
    assert world.task.issuer is not None
    tokens = SlotTokens(card, issuer_name=world.task.issuer.name, origin=world.task.origin)
    bodies = {
        person: [
            tokens.request(
                tuple(sorted(seal_slots(world.task.values(1), card))), seed=bytes([draw]) * 32
            )
            for draw in (1, 2)
        ]
        for person in "abcde"
    }

    def second() -> Issuer:
        storage = SqliteStorage(tmp_path / "issuer.sqlite", ISSUER_SCHEMA)
        without_waiting_for_disks(storage)
        return Issuer(
            storage,
            task=world.task,
            invitation_key=INVITATION_KEY,
            sign_key=ISSUER_SIGN,
            revoked=Revoked(tmp_path / "revoked"),
            clocks=world.clocks[-1],
        )

    others, told = [second()], set[tuple[int, bytes]]()
    signed: defaultdict[str, Counter[bytes]] = defaultdict(Counter)
    fault = Fault(chance, monkeypatch)

    def one() -> Issuer:
        return chance.choice((world.issuer, others[0]))

    def ask() -> None:
        issuer, group = one(), []
        for _ in range(chance.choice((1, 1, 3))):
            person = chance.choice("abcde")
            body = chance.choice(bodies[person])
            account = issuer.admit(world.invitation_of(person), WINDOW, len(body))
            asked = account if isinstance(account, Problem) else issuer.asked(account, body)
            if not isinstance(asked, Problem):
                group.append((person, body, asked))
        if chance.random() < 0.2:
            later()
            close_windows(one())
        problems = issuer.charge([asked for *_, asked in group])
        for (person, body, asked), problem in zip(group, problems, strict=True):
            if problem is None:
                issuer.sign(asked)
                signed[person][body] += 1

    def later() -> None:
        world.go_to(world.now + chance.choice((10, 1000, 3000)))

    steps: list[Callable[[], object]] = [
        *[ask] * 12,
        *(later, lambda: close_windows(one()), lambda: told.update(unsent(one()))),
    ]
    for _ in range(30):
        if fault.within(chance.choice(steps), of=8):
            others[0].storage.close()
            world.restart()
            others[0] = second()
    world.go_to((WINDOW + 1) * HOUR + 5)
    close_windows(world.issuer)
    close_windows(others[0])
    told.update(unsent(world.issuer))
    rows = world.issuer.storage.read("SELECT count(*) FROM issued")
    left = "SELECT count(*) FROM window_key WHERE secret IS NOT NULL OR tag_key IS NOT NULL"
    keys = world.issuer.storage.read(left)
    others[0].storage.close()
    world.close()
    ((_, statement),) = told
    assert Served.decode(statement).accounts >= len(signed)
    assert all(len(of) == 1 and sum(of.values()) <= 6 for of in signed.values())
    assert (rows, keys) == ([(0,)], [(0,)])


@ONLY_SQLITE
@pytest.mark.parametrize("seed", [2, 5, 9, 13, 20, 26])
def test_two_shufflers_up_to_the_thirtieth_day_with_a_fault_in_each_step_tell_one_thing(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    seed: int,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """The protocol, 6: "the same bytes until A has acknowledged header and all parts"; "30 days
    after end + grace, marks, counters and the window's row go, and with them the parts of a batch
    that A has not taken, and the reports of a window that could not be sealed".
    """
    chance = Random(seed)
    monkeypatch.setattr(batch, "PART_RECORDS", 2)
    world = PartyWorld(tmp_path, open_task(epsilon="8", min_batch=3, honest_share="1"))
    world.open_window()
    if people := chance.choice((0, 2, 3, 4)):
        world.send_many(people)
    end = (WINDOW + 1) * HOUR + world.task.grace_seconds
    world.go_to(end)
    others, taken = [second_shuffler(world)], chance.random() < 0.6
    marks, destroyed, offered = set[bytes](), set[bool](), set[tuple[str, bytes]]()
    fault = Fault(chance, monkeypatch)

    def put(path: str, body: bytes) -> int:
        if chance.random() < 0.2:
            step(chance.choice((world.shuffler, others[0])))
        offered.add((path, body))
        return 201 if taken else chance.choice((409, 425, 503))

    def hand_over(shuffler: Shuffler) -> None:
        shuffler.cards.note_over()
        deliver_batches(shuffler, put)

    def look(shuffler: Shuffler) -> None:
        marks.update([found] if (found := shuffler.marks(WINDOW)) else [])
        destroyed.add(shuffler.is_expired(WINDOW))

    steps: list[Callable[[Shuffler], object]] = [
        *(seal_due, hand_over, Shuffler.forget_old, look),
    ]

    def step(shuffler: Shuffler) -> None:
        chance.choice(steps)(shuffler)

    for _ in range(20):
        if chance.random() < 0.1:
            world.go_to(max(world.now, end + chance.choice((0, 29.9, 30.1)) * DAY))
        if fault.within(lambda: step(chance.choice((world.shuffler, others[0]))), of=25):
            others[0].storage.close()
            world.restart()
            others[0] = second_shuffler(world)
    taken = True
    world.go_to(end + 31 * DAY)
    for shuffler in (world.shuffler, others[0]) * 2:
        for done in steps:
            done(shuffler)
    seal_due(world.shuffler)
    kept = world.shuffler.cards.kept()
    tables = ("pending", "batch_part", "marks")
    rows = [world.shuffler.storage.read(f"SELECT count(*) FROM {name}") for name in tables]
    others[0].storage.close()
    world.close()
    assert len(marks) <= 1
    assert len(offered) == len({path for path, _ in offered})
    assert len({path.split("/")[3] for path, _ in offered}) <= 1
    assert not (True in destroyed and (marks or offered))
    assert (kept, rows) == ([], [[(0,)]] * 3)
