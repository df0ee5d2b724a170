"""Ends of windows that came to be another one: older copies, lost files, what is told of them."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from random import Random
from typing import Any

import pytest

from smoothdp.services.analyzer.release import read_result, work
from smoothdp.services.formats.result import SignedResult
from smoothdp.services.formats.served import Served
from smoothdp.services.formats.slot_tokens import SlotTokens
from smoothdp.services.formats.slots import seal_slots
from smoothdp.services.issuer.issuer import Issuer
from smoothdp.services.issuer.issuer_tables import ISSUER_SCHEMA
from smoothdp.services.issuer.window_keys import close_windows
from smoothdp.services.shuffler.delivery import deliver_batches
from smoothdp.services.shuffler.ingest import Taken
from smoothdp.services.shuffler.sealing import seal_due
from smoothdp.services.store.revoked import Revoked
from smoothdp.services.store.storage import SqliteStorage, Transaction, _SqliteTransaction
from smoothdp.services.wire.problems import Problem
from tests.services.storages import ONLY_SQLITE, without_waiting_for_disks
from tests.services.worlds.older_copies import copy_of, put_in_place
from tests.services.worlds.party_world import DAY, HOUR, WINDOW, PartyWorld
from tests.services.worlds.second_processes import second_analyzer, second_shuffler
from tests.services.worlds.small_tasks import ISSUER_SIGN, OPEN_TASK
from tests.services.worlds.whole_world import INVITATION_KEY, WholeWorld, weak_task


@ONLY_SQLITE
def test_a_window_that_was_refused_is_not_released_by_an_older_copy(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """The threat model: "the database alone tells again what was told of a window that was refused
    or quarantined".

    The issuer is away for a week: the window is REFUSED, signed and told. Then the analyser's
    database is put back to the sixth day, and the issuer is there again.
    """
    world = WholeWorld(tmp_path, fast=True)
    world.open_window()
    assert [world.take_part(str(person)) for person in range(3)] == [202] * 3
    world.seal()
    close_windows(world.issuer)
    world.deliver()
    work(world.analyzer)
    world.close()
    older = copy_of(tmp_path, "analyzer.sqlite")
    world._open()
    world.go_to(world.now + 7 * DAY)
    work(world.analyzer)
    status, told = read_result(world.analyzer, WINDOW, now=world.now)
    assert (status, SignedResult.decode(told).document["state"]) == (403, "REFUSED")
    world.close()
    put_in_place(tmp_path, "analyzer.sqlite", older)
    world._open()
    for clocks in world.clocks:
        clocks.heard(world.now)
    world.tell()
    work(world.analyzer)
    assert read_result(world.analyzer, WINDOW, now=world.now) == (403, told)
    assert world.charged() == []
    world.close()


@ONLY_SQLITE
def test_what_was_signed_of_a_refused_window_outlives_its_batch(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """Section 7: "A batch that is not released has a signed statement with its reason and the
    evidence of section 3.5; it is **stored** beside the inner keys before, and an older copy of
    the database gives the same bytes, whatever comes."

    The copy is from before the batch came, which the shuffler does not hand over again.
    """
    world = WholeWorld(tmp_path, fast=True)
    world.open_window()
    assert [world.take_part(str(person)) for person in range(3)] == [202] * 3
    world.close()
    older = copy_of(tmp_path, "analyzer.sqlite")
    world._open()
    world.seal()
    world.deliver()
    world.go_to(world.now + 7 * DAY)
    work(world.analyzer)
    status, told = read_result(world.analyzer, WINDOW, now=world.now)
    assert status == 403
    world.close()
    put_in_place(tmp_path, "analyzer.sqlite", older)
    world._open()
    for clocks in world.clocks:
        clocks.heard(world.now)
    world.deliver()
    work(world.analyzer)
    assert read_result(world.analyzer, WINDOW, now=world.now) == (403, told)
    world.close()


class Faults:
    """A disk that fails once: at a statement, a reading, before a commit or after it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.left: int | None = None
        execute, change = _SqliteTransaction.execute, _SqliteTransaction.change
        read, transaction = SqliteStorage.read, SqliteStorage.transaction

        def failing(call: Callable[..., Any]) -> Callable[..., Any]:
            def run(of: Any, statement: str, values: Sequence[Any] = ()) -> Any:
                self.pass_one()
                return call(of, statement, values)

            return run

        @contextmanager
        def failing_transaction(storage: SqliteStorage) -> Iterator[Transaction]:
            with transaction(storage) as inside:
                yield inside
                self.pass_one()
            self.pass_one()

        monkeypatch.setattr(_SqliteTransaction, "execute", failing(execute))
        monkeypatch.setattr(_SqliteTransaction, "change", failing(change))
        monkeypatch.setattr(SqliteStorage, "read", failing(read))
        monkeypatch.setattr(SqliteStorage, "transaction", failing_transaction)

    def pass_one(self) -> None:
        """Count down to the fault."""
        if self.left is not None:
            self.left -= 1
            if self.left < 0:
                self.left = None
                raise sqlite3.OperationalError("disk I/O error")

    def run(self, step: Callable[[], object], *, within: int) -> None:
        """Do a step in which so many passings come before the fault; it is put off."""
        self.left = within
        with suppress(sqlite3.OperationalError, OSError):
            step()
        self.left = None


@ONLY_SQLITE
@pytest.mark.parametrize("seed", range(6))
def test_two_processes_each_with_faults_and_older_databases_give_a_window_one_end(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
    monkeypatch: pytest.MonkeyPatch,
    seed: int,
) -> None:
    """Section 7: "RELEASED, REFUSED, QUARANTINED are final"; the guide: "what was acknowledged is
    on disk"; section 2: an inner key is destroyed "at the window's end".

    Analyser and shuffler have two processes each; a step in three meets a fault; the database of
    the analyser is put back to an older copy once. An end may be forgotten then, never another.
    """
    random, world = Random(seed), PartyWorld(tmp_path, weak_task(**OPEN_TASK))
    faults = Faults(monkeypatch)
    world.open_window()
    sent = [(world.new_pass(), world.report()) for _ in range(4)]
    ends: set[str] = set()
    shufflers, analyzers = [world.shuffler], [world.analyzer]

    def begin() -> None:
        shufflers[:] = [world.shuffler, second_shuffler(world)]
        analyzers[:] = [world.analyzer, second_analyzer(world)]
        world.go_to(world.now)

    def close() -> None:
        shufflers[1].storage.close()
        analyzers[1].storage.close()
        world.close()

    def put(path: str, body: bytes) -> int:
        if random.random() < 0.3:
            raise OSError
        world.analyzer = random.choice(analyzers)
        try:
            return world.put(path, body)
        finally:
            world.analyzer = analyzers[0]

    begin()
    for secret, report in sent:
        faults.run(lambda s=secret, r=report: world.send(r, s), within=random.randrange(30))  # type: ignore[misc]
        assert world.send(report, secret) is Taken.ACCEPTED
    world.go_to((WINDOW + 1) * HOUR + 600.0)
    older: dict[str, bytes] | None = None
    for step in range(40):
        if step == 20:
            world.go_to(world.now + 7 * DAY)
        work_of, shuffler = random.choice(analyzers), random.choice(shufflers)
        steps: list[Callable[[], object]] = [
            lambda s=shuffler: seal_due(s),  # type: ignore[misc]
            lambda s=shuffler: deliver_batches(s, put),  # type: ignore[misc]
            lambda a=work_of: work(a),  # type: ignore[misc]
        ]
        within = random.randrange(40) if random.random() < 1 / 3 else 10**6
        faults.run(random.choice(steps), within=within)
        if step in (5 + seed, 22 + seed):
            close()
            if older is None:
                older = copy_of(tmp_path, "analyzer.sqlite")
            else:
                put_in_place(tmp_path, "analyzer.sqlite", older)
            world._open()
            begin()
        said = world.result()
        if said["state"] in ("RELEASED", "REFUSED", "QUARANTINED"):
            ends.add(said["state"])
            assert said.get("users", 4) == 4
        assert world.charged() in ([], [WINDOW])
    world.go_to(world.now + 2 * DAY)
    work(world.analyzer)
    assert world.keys[1].scopes() == []
    assert len(ends) <= 1
    assert (world.charged() == [WINDOW]) == (ends == {"RELEASED"})
    close()


@ONLY_SQLITE
@pytest.mark.parametrize("seed", range(4))
def test_no_number_of_accounts_is_below_those_who_were_answered(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
    monkeypatch: pytest.MonkeyPatch,
    seed: int,
) -> None:
    """Section 6: "Commit before signing any of them"; "Then, when the guard says close, in one
    transaction: store `served` with X = number of rows, signed; erase key, tag key, rows".

    Two processes of the issuer; each step may meet a fault, also after its commit, and a window
    may be closed by the other process between a request's check and its row.
    """
    random, world = Random(seed), WholeWorld(tmp_path, fast=True)
    world.open_window()
    storage = SqliteStorage(tmp_path / "issuer.sqlite", ISSUER_SCHEMA)
    without_waiting_for_disks(storage)
    other = Issuer(
        storage,
        task=world.task,
        invitation_key=INVITATION_KEY,
        sign_key=ISSUER_SIGN,
        revoked=Revoked(tmp_path / "revoked"),
        clocks=world.clocks[2],
    )
    faults, answered = Faults(monkeypatch), set[str]()
    card, issuer_of_task = world.card(), world.task.issuer
    assert issuer_of_task is not None
    tokens = SlotTokens(card, issuer_name=issuer_of_task.name, origin=world.task.origin)
    bodies = {
        person: tokens.request(seal_slots(world.task.values(1), card), seed=b"s" * 32)
        for person in "abcdefgh"
    }

    def ask(issuer: Issuer, person: str) -> None:
        body = bodies[person]
        account = issuer.admit(world.invitation_of(person), WINDOW, len(body))
        asked = account if isinstance(account, Problem) else issuer.asked(account, body)
        if random.random() < 1 / 8:
            world.go_to(world.now + 1000)
            close_windows(random.choice([world.issuer, other]))
        if isinstance(asked, Problem) or issuer.charge([asked])[0] is not None:
            return
        issuer.sign(asked)
        answered.add(person)

    for _ in range(30):
        issuer, person = random.choice([world.issuer, other]), random.choice("abcdefgh")
        within = random.randrange(8) if random.random() < 1 / 2 else 10**6
        faults.run(lambda i=issuer, p=person: ask(i, p), within=within)  # type: ignore[misc]
    world.go_to((WINDOW + 1) * HOUR + 1.0)
    faults.run(lambda: close_windows(other), within=seed * 3)
    close_windows(world.issuer)
    ((statement,),) = storage.read("SELECT statement FROM served")
    assert len(answered) <= Served.decode(bytes(statement)).accounts <= len(bodies)
    assert storage.read("SELECT secret, tag_key FROM window_key") == [(None, None)]
    assert storage.read("SELECT count(*) FROM issued") == [(0,)]
    assert answered
    storage.close()
    world.close()
