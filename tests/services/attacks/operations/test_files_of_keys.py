"""State and time of the parties once more: what is called good, and what is held off."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable
from contextlib import ExitStack, closing, suppress
from fractions import Fraction
from functools import partial
from itertools import product
from pathlib import Path
from random import Random
from typing import Any

import httpx
import pytest

from smoothdp.claims import ApproxDP
from smoothdp.errors import InvalidData, SmoothdpError
from smoothdp.ledger.ledger import Ledger
from smoothdp.services.analyzer.analyzer_party import AnalyzerParty
from smoothdp.services.analyzer.release import work
from smoothdp.services.analyzer.window_cards import GATEWAY, ISSUER
from smoothdp.services.client.client import Client
from smoothdp.services.client.outcomes import OutcomeStore
from smoothdp.services.client.submit import submit
from smoothdp.services.formats.card import SignedCard, key_config
from smoothdp.services.formats.report import seal_report
from smoothdp.services.issuer.issuer_party import issue_invitations
from smoothdp.services.issuer.window_keys import close_windows, key_of_window
from smoothdp.services.operations.admin import Operations
from smoothdp.services.operations.logs import PutOff
from smoothdp.services.shuffler.delivery import deliver_batches
from smoothdp.services.shuffler.ingest import Taken
from smoothdp.services.shuffler.sealing import seal_due
from smoothdp.services.shuffler.shuffler_party import ShufflerParty, issue_passes
from smoothdp.services.wire.calls import connect
from smoothdp.services.wire.clock_call import exchange_clocks
from smoothdp.services.wire.running import on_loopback
from tests.services.attacks.operations.test_processes_of_a_party import Faults, hand_over
from tests.services.attacks.operations.test_what_is_called_good import (
    _round,
    _wrong,
    nothing_written,
)
from tests.services.storages import ONLY_SQLITE
from tests.services.worlds.checked import what_is_wrong
from tests.services.worlds.on_postgresql import on_postgresql, the_server
from tests.services.worlds.party_world import DAY, HOUR, PartyWorld
from tests.services.worlds.second_processes import second_shuffler
from tests.services.worlds.small_tasks import open_task
from tests.services.worlds.three_parties import WINDOW, Parties
from tests.services.worlds.whole_world import LOST, WholeWorld, weak_task


def _with_rows_in_postgresql(parties: Parties, stack: ExitStack, role: str) -> None:
    """Start a party anew with its rows in PostgreSQL, before it has any."""
    directory = parties.folder / role
    getattr(parties, role).close()
    for path in directory.glob(f"{role}.sqlite*"):
        path.unlink()
    kind: Any = ShufflerParty if role == "shuffler" else AnalyzerParty
    address = the_server().schema_for(directory, role)
    party = kind.from_directory(directory, clocks=parties.clocks(), storage=address)
    stack.callback(party.close)
    setattr(parties, role, party)


@on_postgresql
def test_a_shuffler_whose_file_of_keys_takes_nothing_is_not_ready(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """The guide, of `/readyz`: "200, or 503 and the names of what is wrong"; of "storage": "a disk
    that fails or takes nothing more, a quota that is used up".

    The rows are in PostgreSQL, on a server that is well; the quota of the shuffler's own directory,
    where the keys of these rows are, is used up. The first report of a window needs a new key
    there: it is answered 503, and so is everybody in this window; all conditions are good, round
    after round. A card of each window is there, so that nothing is due which would meet it.
    """
    with ExitStack() as stack:
        parties = Parties(tmp_path, stack, windows=3)
        _with_rows_in_postgresql(parties, stack, "shuffler")
        for _ in range(4):
            parties.round()
        store = OutcomeStore(tmp_path / "client.sqlite")
        stack.callback(store.close)
        client = Client(parties.task, store, name="a", clock=lambda: parties.now)
        app = parties.shuffler.app(parties.url, work_seconds=3600)
        url = stack.enter_context(on_loopback(app))
        issuer = parties.issuer.app(parties.url, work_seconds=3600)
        issuer_url = stack.enter_context(on_loopback(issuer))
        pass_secret = issue_passes(tmp_path / "shuffler", 1)[0]
        # The token is there, and the report does not arrive.
        with (
            connect(issuer_url) as to_issuer,
            connect("http://127.0.0.1:1") as nowhere,
            suppress(SmoothdpError, OSError),
        ):
            submit(
                *(client, 1),
                shuffler=nowhere,
                pass_secret=pass_secret,
                issuer=to_issuer,
                invitation=issue_invitations(tmp_path / "issuer", 1)[0],
                attempts=1,
            )
        kept, stored = client.kept(WINDOW), parties.shuffler.shuffler.cards.stored(WINDOW)
        assert kept is not None
        assert stored is not None
        card = SignedCard.decode(stored).card

        def send() -> int:
            return httpx.post(
                f"{url}/v2/reports/{parties.task.task_id.hex()}/{WINDOW}",
                content=seal_report(kept.report, card),
                headers={"authorization": f"Bearer {pass_secret}"},
            ).status_code

        operations: Operations = app.state.operations
        _round(parties, "shuffler", operations)
        before = _wrong(operations)
        with nothing_written():
            refused = []
            for _ in range(3):
                refused.append(send())
                _round(parties, "shuffler", operations)
            wrong = _wrong(operations)
        after = send()
    assert (before, refused, after) == ([], [503] * 3, 202)
    assert wrong, "all is said to be well"


@on_postgresql
def test_an_analyser_whose_file_of_keys_takes_nothing_is_not_ready(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """The guide, of `/readyz`: "200, or 503 and the names of what is wrong"; of "storage": "a disk
    that fails or takes nothing more, a quota that is used up".

    The rows are in PostgreSQL, on a server that is well; the quota of the analyser's own directory,
    with the inner keys and the ledger, is used up. No card can be made any more, and no key that is
    brought for one is taken; all conditions are good.
    """
    with ExitStack() as stack:
        parties = Parties(tmp_path, stack, windows=60, window_seconds=DAY)
        _with_rows_in_postgresql(parties, stack, "analyzer")
        url = stack.enter_context(on_loopback(parties.analyzer.app(work_seconds=3600)))
        parties.url = url
        for _ in range(4):
            parties.round()
        operations = parties.analyzer._operations(10.0)
        _round(parties, "analyzer", operations)
        before = _wrong(operations)
        coming = max(parties.shuffler._coming_windows()) + 1
        parties.now += DAY
        gateway = key_config(coming, parties.shuffler.shuffler.cards.offered_key(coming))
        spki = key_of_window(parties.issuer.issuer, coming)
        assert spki is not None

        def put(what: str, body: bytes, token: str) -> int:
            return httpx.put(
                f"{url}/v2/{what}/{parties.task.task_id.hex()}/{coming}",
                content=body,
                headers={"authorization": f"Bearer {token}"},
            ).status_code

        with connect(url) as http:
            clocks, token = parties.shuffler.shuffler.clocks, parties.shuffler.analyzer_token
            exchange_clocks(http, clocks, token=token)
        assert put("gateway-keys", gateway, token) == 201
        with nothing_written():
            refused = []
            for _ in range(3):
                refused.append(put("issuer-keys", spki, parties.issuer.analyzer_token))
                _round(parties, "analyzer", operations)
            wrong = _wrong(operations)
        after = put("issuer-keys", spki, parties.issuer.analyzer_token)
    assert (before, refused, after) == ([], [503] * 3, 201)
    assert wrong, "all is said to be well"


def _damage(file: Path, table: str) -> None:
    """Write over the first page of a table and of its indexes, as a disk does that goes bad."""
    with closing(sqlite3.connect(file)) as connection:
        ((size,),) = connection.execute("PRAGMA page_size").fetchall()
        query = "SELECT rootpage FROM sqlite_master WHERE tbl_name = ? AND rootpage > 0"
        pages = connection.execute(query, (table,)).fetchall()
    with file.open("r+b") as handle:
        for (page,) in pages:
            handle.seek((page - 1) * size)
            handle.write(b"\xff" * size)


@ONLY_SQLITE
def test_an_analyser_whose_file_of_keys_was_found_damaged_is_not_ready(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """The guide, of `/readyz`: "200, or 503 and the names of what is wrong"; of "storage": "a file
    [...] that has been found damaged".

    A page of `inner.sqlite` with what is noted beside the keys goes bad while the analyser runs. It
    answers 503 to the keys of each window to come, so that there are no more cards.
    """
    with ExitStack() as stack:
        parties = Parties(tmp_path, stack, windows=60, window_seconds=DAY)
        for _ in range(3):
            parties.round()
        operations = parties.analyzer._operations(10.0)
        _round(parties, "analyzer", operations)
        before = _wrong(operations)
        # Not by a connection of this process to the file: closing it would give up the locks.
        storage = parties.analyzer.keys._storage
        ((size,),) = storage.read("PRAGMA page_size")
        query = "SELECT rootpage FROM sqlite_master WHERE tbl_name = 'note'"
        with parties.folder.joinpath("analyzer", "inner.sqlite").open("r+b") as handle:
            for (page,) in storage.read(query):
                handle.seek((page - 1) * size)
                handle.write(b"\xff" * size)
        parties.now += DAY
        found = []
        for _ in range(2):
            parties.shuffler.work(parties.url)
            with pytest.raises(PutOff, match="503 to the key of window") as refused:
                parties.issuer.work(parties.url)
            found.append(str(refused.value))
            _round(parties, "analyzer", operations)
        wrong = _wrong(operations)
    assert before == []
    assert wrong, f"all is said to be well; to the issuer: {found[-1]}"


@on_postgresql
def test_a_check_sees_that_the_keys_of_rows_are_damaged(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """The guide: "`serve check` says in words [...] whether the directory is fit: files, rights,
    keys, tables"; to PostgreSQL, of the file of keys: "That file is part of the state: without it
    the rows cannot be read".

    A page of `shuffler.keys.sqlite` with the keys of an open window has gone bad: no report of it
    can be sealed into a batch. It is said of the window keys' own file, `gateway.sqlite`.
    """
    directory = tmp_path / "shuffler"
    with ExitStack() as stack:
        parties = Parties(tmp_path, stack, windows=60, window_seconds=DAY, now=time.time())
        _with_rows_in_postgresql(parties, stack, "shuffler")
        (directory / "storage").write_text(the_server().schema_for(directory, "shuffler"))
        (directory / "storage").chmod(0o600)
        for _ in range(3):
            parties.round()
        storage: Any = parties.shuffler.shuffler.storage
        assert storage._keys.scopes()
        parties.shuffler.close()
        before = what_is_wrong(directory)
        _damage(directory / "shuffler.keys.sqlite", "data_key")
        wrong = what_is_wrong(directory)
        started = ""
        try:
            party = ShufflerParty.from_directory(directory, clocks=parties.clocks())
            stack.callback(party.close)
            window = int(parties.now // DAY)
            party.shuffler.storage.read(
                "SELECT tag_key FROM collecting WHERE window = ?", (window,)
            )
        except SmoothdpError as error:
            started = str(error)
    assert before == {}
    assert "malformed" in started
    assert wrong, f"fit to be served; and then: {started}"


@ONLY_SQLITE
@pytest.mark.parametrize("people", [0, 1])
def test_windows_of_a_second_with_nobody_and_with_one_person(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    people: int,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """The protocol, 6: "if `min_batch` reports remain [...] else the window is EXPIRED"; 7: "once
    for this window and its batch": no grace, a budget of one window, two processes, faults.
    """
    task = weak_task(
        epsilon="30", min_batch=1, max_batch=1, window_seconds=1, grace_seconds=0, windows=1
    )
    assert task.fewest_honest == 1
    first, other = (WholeWorld(tmp_path, task, fast=True) for _ in range(2))
    window = int(first.now)
    faults = Faults(Random(people), monkeypatch)
    first.open_window(window)
    assert [first.take_part("a", window=window) for _ in range(people)] == [202] * people
    steps: list[Callable[[WholeWorld], object]] = [
        lambda world: seal_due(world.shuffler),
        lambda world: close_windows(world.issuer),
        lambda world: world.tell(),
        hand_over,
        lambda world: work(world.analyzer),
    ]
    for world in (first, other):
        world.go_to(window + 1.0)
    chance = Random(people)
    for _ in range(25):
        faults.within(partial(chance.choice(steps), chance.choice((first, other))))
    for _, world, step in product(range(2), (first, other), steps):
        step(world)
    said = first.result(window)
    assert first.analyzer.accounts_served(window) == people
    assert first.shuffler.is_expired(window) == (not people)
    assert said["state"] == ("RELEASED" if people else "no batch")
    assert first.charged() == [window] * people
    assert first.shuffler.cards.kept() == []
    assert bool(first.keys[1].scopes()) == (not people)
    for world in (first, other):
        world.go_to(window + 1.0 + 7 * DAY)
        work(world.analyzer)
    assert first.keys[1].scopes() == []
    first.close()
    other.close()


@ONLY_SQLITE
def test_clocks_that_step_back_after_the_end_of_a_window_open_nothing_again(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """The protocol, 2: "Keys of one window are made once and never again"; 6: the order of the
    answers: all clocks are set right by half a minute just after a window was closed.
    """
    world = WholeWorld(tmp_path, weak_task(grace_seconds=0), fast=True)
    world.open_window()
    for person in "abc":
        assert world.take_part(person) == 202
    assert world.take_part("late", lose=("reports request",)) == LOST
    world.end()
    # Beside the one that was released: a window without a card, whose keys are erased.
    world.go_to((WINDOW + 1) * HOUR + 1.0)
    key = key_of_window(world.issuer, WINDOW + 1)
    gateway = world.shuffler.cards.offered_key(WINDOW + 1)
    world.go_to((WINDOW + 2) * HOUR + 1.0)
    seal_due(world.shuffler)
    close_windows(world.issuer)
    world.go_to((WINDOW + 2) * HOUR - 29.0)
    assert key_of_window(world.issuer, WINDOW + 1) is None
    assert world.analyzer.cards.put_key(GATEWAY, WINDOW + 1, gateway) == 201
    assert key is not None
    assert world.analyzer.cards.put_key(ISSUER, WINDOW + 1, key) == 201
    offered = world.analyzer.cards.shown(WINDOW + 1)
    assert offered is not None
    with pytest.raises(InvalidData):
        world.shuffler.cards.sign(WINDOW + 1, offered)
    world.go_to((WINDOW + 1) * HOUR - 29.0)
    assert world.take_part("late") == 410
    assert world.take_part("new") == 410
    assert world.shuffler.cards.kept() == []
    assert world.result()["state"] == "RELEASED"
    assert world.charged() == [WINDOW]
    world.close()


@ONLY_SQLITE
@pytest.mark.parametrize("share", ["1/2", "1"])
def test_a_program_that_spends_from_the_ledger_between_two_steps_of_a_release(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    share: str,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """The protocol, 7: "charge the ledger, on disk first, once for this window and its batch;
    REFUSED if the budget is spent".

    Another program spends in the moment between the last look and the charge, half of the budget
    of two windows, or all of it.
    """
    world = WholeWorld(tmp_path, weak_task(windows=2), fast=True)
    task = world.task
    world.open_window()
    for person in "abc":
        assert world.take_part(person) == 202
    ledger, charge = world.analyzer.ledger, Ledger.charge
    spent: list[object] = []

    def meanwhile(own: Ledger, *values: object, **options: object) -> object:
        if not spent:
            spent.append(share)
            part = Fraction(share)
            costs = ApproxDP(
                Fraction(task.budget_epsilon) * part, delta=Fraction(task.budget_delta) * part
            )
            charge(Ledger(ledger.path), costs)
        return charge(own, *values, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(Ledger, "charge", meanwhile)
    said = world.end()
    entries = Ledger(ledger.path).entries()
    assert len(entries) == (2 if share == "1/2" else 1)
    assert said["state"] == ("RELEASED" if share == "1/2" else "REFUSED")
    if share == "1/2":
        assert said["charged"]["number"] == 2
    assert world.keys[1].scopes() == []
    world.close()


@ONLY_SQLITE
@pytest.mark.parametrize("at", ["header", "part"])
def test_a_batch_that_is_dropped_while_another_process_hands_it_over(
    tmp_path: Path,
    at: str,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """The protocol, 6: "30 days after end + grace, marks, counters and the window's row go, and
    with them the parts of a batch that A has not taken"; "batch SEALED - DELIVERED - PURGED, or
    SEALED - DROPPED".
    """
    world = PartyWorld(tmp_path, open_task())
    other = second_shuffler(world)
    world.open_window()
    world.send_many(14)
    world.seal()
    ((part,),) = world.shuffler.storage.read("SELECT bytes FROM batch_part")
    world.go_to(world.now + 30 * DAY)

    def put(path: str, body: bytes) -> int:
        if ("parts" in path) == (at == "part"):
            other.forget_old()
        # An analyser that says that it had the header before.
        return 201 if at == "part" else world.put(path, body)

    with suppress(Exception):
        deliver_batches(world.shuffler, put)
    assert world.shuffler.batch_states() == {"DROPPED": 1}
    deliver_batches(world.shuffler, world.put)
    for shuffler in (other, world.shuffler):
        shuffler.storage.forget()
    assert world.shuffler.marks(WINDOW) is None
    assert not world.shuffler.is_expired(WINDOW)
    assert world.shuffler.takes(WINDOW) is Taken.CLOSED
    other.storage.close()
    world.close()
    assert bytes(part)[:52] not in world.files()
