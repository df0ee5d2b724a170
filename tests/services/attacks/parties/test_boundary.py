"""Attacks at boundaries: a full window, a spent budget, ended batches, numbers at their ends."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import httpx
import pytest

from smoothdp.errors import LedgerError, SmoothdpError
from smoothdp.services.analyzer import counting, release
from smoothdp.services.analyzer.analyzer import Analyzer
from smoothdp.services.analyzer.analyzer_tables import ANALYZER_SCHEMA
from smoothdp.services.analyzer.counting import count_complete
from smoothdp.services.analyzer.release import release_counted, work
from smoothdp.services.analyzer.window_cards import GATEWAY
from smoothdp.services.formats.report import seal_report
from smoothdp.services.formats.served import Served
from smoothdp.services.issuer.window_keys import close_windows
from smoothdp.services.operations.logs import PutOff
from smoothdp.services.shuffler.delivery import DeliveryRefused
from smoothdp.services.shuffler.ingest import OpenedReport, Taken
from smoothdp.services.shuffler.shuffler import Shuffler
from smoothdp.services.shuffler.shuffler_tables import SHUFFLER_SCHEMA
from smoothdp.services.store.erasable_keys import ErasableKeys
from smoothdp.services.store.revoked import revoke
from smoothdp.services.wire.calls import ServiceError, Unreachable, ask
from tests.services.storages import open_state
from tests.services.worlds.party_world import PASS_KEY, WINDOW, PartyWorld
from tests.services.worlds.small_tasks import (
    ANALYZER_SIGN,
    ISSUER_SIGN,
    SHUFFLER_SIGN,
    small_task,
)
from tests.services.worlds.three_parties import Parties
from tests.services.worlds.whole_world import WholeWorld


def open_task(**options: Any) -> Any:
    """Return a small task without an issuer: its reports cost nothing."""
    return small_task(issuer=None, proof="none", **options)


@pytest.fixture
def full(tmp_path: Path) -> Iterator[PartyWorld]:
    """Yield a world whose windows hold fourteen reports."""
    world = PartyWorld(tmp_path, open_task(max_batch=14))
    world.open_window()
    yield world
    world.close()


def judged(world: PartyWorld, count: int, shuffler: Shuffler | None = None) -> list[OpenedReport]:
    """Return reports that were judged and wait to be stored."""
    shuffler, found = shuffler or world.shuffler, []
    for person in range(count):
        sender = shuffler.sender(world.new_pass())
        assert sender is not None
        sealed = seal_report(world.report(person % 2).encode(), world.card())
        one = shuffler.judge(WINDOW, sender, sealed)
        assert isinstance(one, OpenedReport)
        found.append(one)
    return found


# ---- the largest batch ------------------------------------------------------------------------


def test_one_above_the_largest_batch_is_to_come_later(full: PartyWorld) -> None:
    full.send_many(14)
    assert full.send(full.report()) is Taken.LATER
    assert full.finish()["users"] == 14


def test_reports_judged_beside_each_other_do_not_overfill_a_window(full: PartyWorld) -> None:
    """Sixteen found a place when there was one each: two too many would lose the window."""
    group = judged(full, 16)
    answers = [*full.shuffler.accept(group[:5]), *full.shuffler.accept(group[5:])]
    assert (answers.count(Taken.ACCEPTED), answers.count(Taken.LATER)) == (14, 2)
    (sealed,) = full.seal()
    assert sealed.users == 14
    document = full.finish()
    assert (document["state"], document["users"]) == ("RELEASED", 14)


def test_two_processes_of_the_shuffler_do_not_overfill_a_window(full: PartyWorld) -> None:
    other = Shuffler(
        open_state(full.folder, "shuffler", SHUFFLER_SCHEMA),
        task=full.task,
        keys=ErasableKeys(full.folder / "gateway.sqlite"),
        sign_key=SHUFFLER_SIGN,
        pass_key=PASS_KEY,
        clocks=full.clocks[0],
    )
    first, second = judged(full, 8), judged(full, 8, other)
    assert set(full.shuffler.accept(first)) == {Taken.ACCEPTED}
    answers = other.accept(second)
    assert (answers.count(Taken.ACCEPTED), answers.count(Taken.LATER)) == (6, 2)
    other.storage.close()
    assert full.finish()["state"] == "RELEASED"


# ---- the budget ---------------------------------------------------------------------------------


def test_a_window_that_ends_just_now_still_counts_against_the_budget(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process charges and ends a window between two looks at what is spent."""
    world = PartyWorld(tmp_path, open_task(windows=1))
    world.open_window()
    world.send_many(12)
    world.seal()
    world.deliver()
    storage = world.analyzer.storage
    begin = storage.transaction

    def released_before() -> Any:
        monkeypatch.setattr(storage, "transaction", begin)
        work(world.analyzer)
        return begin()

    monkeypatch.setattr(storage, "transaction", released_before)
    key = world.shuffler.cards.offered_key(WINDOW + 1)
    assert world.analyzer.cards.put_key(GATEWAY, WINDOW + 1, key) == 404
    assert world.charged() == [WINDOW]
    assert world.analyzer.cards.shown(WINDOW + 1) is None
    world.close()


def test_thirds_of_a_budget_pay_for_three_windows_and_no_fourth(tmp_path: Path) -> None:
    task = open_task(epsilon="13/3", delta="1/75", windows=3)
    world = PartyWorld(tmp_path, task)
    for window in range(WINDOW, WINDOW + 3):
        world.go_to(window * 3600 + 1200.0)
        world.open_window(window)
        world.send_many(12, window=window)
        assert world.finish(window=window)["state"] == "RELEASED"
    assert world.charged() == [WINDOW, WINDOW + 1, WINDOW + 2]
    key = world.shuffler.cards.offered_key(WINDOW + 3)
    assert world.analyzer.cards.put_key(GATEWAY, WINDOW + 3, key) == 404
    world.close()


# ---- the analyser -------------------------------------------------------------------------------


def test_a_late_part_of_a_batch_that_ended_is_not_kept(full: PartyWorld) -> None:
    full.send_many(12)
    full.seal()
    read = full.shuffler.storage.read
    ((batch_id, header),) = read("SELECT batch_id, header FROM batch")
    ((part,),) = read("SELECT bytes FROM batch_part")
    assert full.analyzer.put_batch(batch_id, header) == 201
    full.go_to(full.now + 7 * 86_400)
    work(full.analyzer)
    assert full.result()["state"] == "REFUSED"
    assert full.analyzer.put_part(batch_id, 0, part) == 201
    assert full.analyzer.storage.read("SELECT bytes FROM part") == [(None,)]
    work(full.analyzer)
    assert full.result()["state"] == "REFUSED"
    assert full.charged() == []


def test_a_worker_that_comes_late_to_a_release_changes_nothing(
    full: PartyWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process releases a batch, and deletes its tallies, just before they are read."""
    full.send_many(12)
    full.seal()
    full.deliver()
    count_complete(full.analyzer)
    other = Analyzer(
        open_state(full.folder, "analyzer", ANALYZER_SCHEMA),
        task=full.task,
        keys=ErasableKeys(full.folder / "inner.sqlite"),
        sign_key=ANALYZER_SIGN,
        ledgers=full.folder,
        clocks=full.clocks[1],
    )
    read = counting.tallies

    def late(analyzer: Analyzer, batch_id: bytes) -> dict[int, int]:
        monkeypatch.setattr(release, "tallies", read)
        assert release_counted(other) == 1
        return read(analyzer, batch_id)

    monkeypatch.setattr(release, "tallies", late)
    assert release_counted(full.analyzer) == 0
    other.storage.close()
    assert full.charged() == [WINDOW]
    assert full.result()["users"] == 12


@pytest.mark.parametrize(
    ("accounts", "state"),
    [(0, "QUARANTINED"), (11, "QUARANTINED"), (12, "RELEASED"), (2**64 - 1, "REFUSED")],
)
def test_numbers_of_accounts_at_their_ends(tmp_path: Path, accounts: int, state: str) -> None:
    world = PartyWorld(tmp_path)
    world.open_window()
    world.send_many(12)
    document = world.finish(accounts)
    assert (document["state"], document["accounts_served"]) == (state, accounts)
    assert world.charged() == ([WINDOW] if state == "RELEASED" else [])
    world.close()


def test_statements_and_batches_of_one_window_are_nothing_in_another(tmp_path: Path) -> None:
    world = PartyWorld(tmp_path)
    world.open_window()
    world.open_window(WINDOW + 1)
    world.send_many(12)
    here = world.report()
    world.go_to((WINDOW + 1) * 3600 + 1.0)
    # The first window's report, sealed to the second one's gateway.
    assert world.send(here, window=WINDOW + 1) is Taken.UNKNOWN
    served = Served(world.card().digest, 12).sign(ISSUER_SIGN).encode()
    assert world.analyzer.put_served(WINDOW + 1, served) == 400
    assert world.finish(12)["state"] == "RELEASED"
    ((batch_id, header),) = world.shuffler.storage.read("SELECT batch_id, header FROM batch")
    assert world.analyzer.put_batch(batch_id, header) == 200
    assert world.analyzer.put_batch(bytes(16), header) == 400
    assert world.result(WINDOW + 1)["state"] == "open"
    assert world.charged() == [WINDOW]
    world.close()


def test_a_task_with_another_budget_has_nobody(tmp_path: Path) -> None:
    """Its file edited, all passes and cards of before are of another task."""
    world, edited = PartyWorld(tmp_path, open_task()), open_task(windows=21)
    card = world.open_window()
    old = world.new_pass()
    shuffler = Shuffler(
        world.shuffler.storage,
        task=edited,
        keys=world.keys[0],
        sign_key=SHUFFLER_SIGN,
        pass_key=PASS_KEY,
        clocks=world.clocks[0],
    )
    assert world.shuffler.sender(old) is not None
    assert shuffler.sender(old) is None
    assert shuffler.takes(WINDOW) is Taken.UNKNOWN
    assert card.task_id == world.task.task_id != edited.task_id
    world.close()


# ---- answers of the other end -------------------------------------------------------------------


def test_a_compressed_answer_is_an_error_in_words() -> None:
    def answers(_: httpx.Request) -> httpx.Response:
        packed = {"content-encoding": "gzip"}
        return httpx.Response(200, headers=packed, stream=httpx.ByteStream(b"no gzip"))

    with (
        httpx.Client(base_url="http://127.0.0.1:1", transport=httpx.MockTransport(answers)) as http,
        pytest.raises(ServiceError, match="compressed") as caught,
    ):
        ask(http, "GET", "/v2/tasks/00/cards/1")
    assert not isinstance(caught.value, Unreachable)


# ---- an analyser that lost what it knew ---------------------------------------------------------


def test_a_window_that_the_analyser_forgot_holds_up_no_later_one(tmp_path: Path) -> None:
    """Restored from an older copy it has no card of a window: its number is refused for ever."""
    world = WholeWorld(tmp_path)
    for window in (WINDOW, WINDOW + 1):
        world.go_to(window * 3600 + 600.0)
        world.open_window(window)
        for person in ("ann", "bob", "cy"):
            assert world.take_part(person, window=window) == 202
        world.seal(window)
        close_windows(world.issuer)
    with world.analyzer.storage.transaction() as change:
        change.change("DELETE FROM card WHERE window = ?", (WINDOW,))
    for _ in range(2):
        with pytest.raises(PutOff, match=f"409 to the number of accounts of window {WINDOW}"):
            world.tell()
    with pytest.raises(DeliveryRefused):
        world.deliver()
    work(world.analyzer)
    assert world.result(WINDOW + 1)["state"] == "RELEASED"
    assert world.charged() == [WINDOW + 1]
    world.close()


def test_a_window_with_another_gateway_key_holds_up_no_later_card(tmp_path: Path) -> None:
    """A shuffler that lost its state brings another key for a window that has one."""
    with ExitStack() as stack:
        parties = Parties(tmp_path, stack)
        lost = bytes(31) + b"\x09"
        cards = parties.analyzer.analyzer.cards
        assert cards.put_key(GATEWAY, WINDOW, lost) == 201
        for party in (parties.shuffler, parties.issuer, parties.shuffler):
            with suppress(SmoothdpError):
                party.work(parties.url)
        own = parties.shuffler.shuffler.cards
        assert not own.is_given(WINDOW)
        assert own.is_given(WINDOW + 1)
        with pytest.raises(ServiceError, match=f"gateway key of window {WINDOW}"):
            parties.shuffler.work(parties.url)


def test_a_damaged_ledger_keeps_no_key_of_a_window_that_was_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = PartyWorld(tmp_path)
    for window, accounts in ((WINDOW, 2**40), (WINDOW + 1, 12)):
        world.go_to(window * 3600 + 1200.0)
        world.open_window(window)
        world.send_many(12, window=window)
        world.seal(window)
        world.deliver()
        assert world.tell_served(accounts, window) == 201

    def damaged(_: int, **__: Any) -> Any:
        raise LedgerError(expected="a ledger", got="a damaged one", remedy="Restore it")

    monkeypatch.setattr(world.analyzer.ledger, "charge", damaged)
    with pytest.raises(LedgerError):
        work(world.analyzer)
    assert world.analyzer.cards.inner_key(WINDOW) is None
    assert world.analyzer.cards.inner_key(WINDOW + 1) is not None
    assert world.result(WINDOW)["state"] == "REFUSED"
    monkeypatch.undo()
    assert work(world.analyzer) == 1
    assert world.charged() == [WINDOW + 1]
    world.close()


# ---- secrets that are revoked -------------------------------------------------------------------


def test_an_invitation_revoked_in_a_window_ends_no_report_and_gives_no_second(
    tmp_path: Path,
) -> None:
    """Tokens that were given stay good, and count in X; another device gets none."""
    world = WholeWorld(tmp_path)
    world.open_window()
    for person in ("bob", "cy"):
        assert world.take_part(person) == 202
    world.take_part("ann", lose=("reports request",))
    revoke(tmp_path / "revoked", [b"ann".rjust(16)])
    assert world.take_part("ann", device="other") == 401
    assert world.take_part("ann") == 202
    document = world.end()
    assert (document["state"], document["users"], document["accounts_served"]) == ("RELEASED", 3, 3)
    world.close()
