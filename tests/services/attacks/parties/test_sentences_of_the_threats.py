"""The threat model, by its sentences: older copies, false words of a shuffler, numbers served."""

from __future__ import annotations

import sqlite3
from fractions import Fraction
from pathlib import Path

import httpx
import pytest

from smoothdp.errors import InvalidData
from smoothdp.services.analyzer.release import read_result, work
from smoothdp.services.formats.design.budget import KEY_SECONDS, windows_paid
from smoothdp.services.formats.report import Report
from smoothdp.services.formats.slot_tokens import SlotTokens
from smoothdp.services.formats.slots import seal_slots
from smoothdp.services.issuer.issuer import Account
from smoothdp.services.issuer.window_keys import close_windows
from smoothdp.services.shuffler.ingest import Taken
from smoothdp.services.store.storage import StorageFull
from tests.services.storages import ONLY_SQLITE
from tests.services.worlds.older_copies import copy_of, put_in_place
from tests.services.worlds.page_of_threats import on_the_page
from tests.services.worlds.party_world import HOUR, WINDOW, PartyWorld, issuer_key
from tests.services.worlds.shufflers_batches import hand_over
from tests.services.worlds.small_tasks import small_task
from tests.services.worlds.token_takers import take_tokens
from tests.services.worlds.whole_world import WholeWorld, weak_task

pytestmark = ONLY_SQLITE


NAMES = ("analyzer.sqlite", "inner.sqlite")


@pytest.mark.parametrize("then", ["another batch", "a week"])
def test_a_quarantined_window_may_have_another_end_on_older_copies_of_database_and_keys(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
    then: str,
) -> None:
    """The page: "database and keys from an older copy beside the newest ledger release no window
    again for another batch than it was charged for, but [...] may give one that was refused or
    quarantined another end".

    The window was quarantined, signed: more users than were served. Then the machine is set back to
    a snapshot, and the newest ledger put beside it, as the guide says. The shuffler hands over
    another batch, and the window is released; or, if the snapshot has the batch, the issuer, whose
    number was acknowledged, does not repeat it, and after a week the window is signed as REFUSED.
    """
    world = PartyWorld(tmp_path, small_task())
    world.open_window()
    records = [record for _ in range(13) for record in world.report().records]
    world.go_to((WINDOW + 1) * HOUR + world.task.grace_seconds)
    older = _copies(world)
    assert hand_over(world, records, WINDOW, b"1" * 16) == [201, 201]
    if then == "a week":
        older = _copies(world)
    assert world.tell_served(12) == 201
    work(world.analyzer)
    assert world.result()["state"] == "QUARANTINED"
    world.close()
    for name, copy in older.items():
        put_in_place(tmp_path, name, copy)
    world._open()
    if then == "a week":
        world.go_to(world.now + KEY_SECONDS + 1)
    else:
        assert hand_over(world, records[:12], WINDOW, b"2" * 16) == [201, 201]
        assert world.tell_served(12) == 201
    work(world.analyzer)
    again = world.result()["state"]
    world.close()
    assert again == ("RELEASED" if then == "another batch" else "REFUSED")
    assert on_the_page("may give one that was refused or quarantined another end")


def _copies(world: PartyWorld) -> dict[str, dict[str, bytes]]:
    """Return the analyser's files of now but for its ledger."""
    world.close()
    found = {name: copy_of(world.folder, name) for name in NAMES}
    world._open()
    return found


class FalseWords(WholeWorld):
    """A shuffler that says of each window that it destroyed it."""

    def _shuffler_answers(self, request: httpx.Request) -> tuple[str, httpx.Response]:
        if request.method == "HEAD":
            return "marks", httpx.Response(410)
        return super()._shuffler_answers(request)


@pytest.mark.parametrize("with_the_analyser", [False, True])
def test_what_an_analyser_sees_is_limited_by_a_true_shuffler_alone(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
    with_the_analyser: bool,
) -> None:
    """The page: "The ledger limits what is published, not what the analyser sees: that is limited
    by each client, which answers in no more windows than the budget pays for, if the shuffler's
    word of windows that it destroyed is true"; and of both together: "in any number of windows".

    The shuffler alone leaves out so many that the rule refuses the batch, which gives the place in
    the analyser's budget back, and says 410 to the person, whose client then counts no window. An
    analyser that follows the protocol has her draws of five windows, where the budget pays for
    one. With an analyser that makes cards for ever nobody need be left out.
    """
    task = weak_task(windows=1, honest_share="0.8", min_batch=5)
    assert windows_paid(task) == 1
    world = FalseWords(tmp_path, task, fast=True)
    seen = []
    for window in range(WINDOW, WINDOW + 5):
        world.go_to(window * HOUR + 700)
        world.clocks[-1].heard(world.now)
        if with_the_analyser:
            world.analyzer.cards._pays = lambda *_: True  # type: ignore[method-assign]
        world.open_window(window)
        world.client("victim").settle()
        try:
            assert world.take_part("victim", window=window) == 202
        except InvalidData:
            break
        slots = world.report_of("victim", window).slots
        # Nine others, new ones in each window.
        for other in range(9):
            assert world.take_part(f"{window} {other}", window=window) == 202
        if not with_the_analyser:
            with world.shuffler.storage.transaction() as change:
                change.change(
                    "DELETE FROM pending WHERE sender_tag IN (SELECT sender_tag FROM pending "
                    "WHERE window = ? AND instr(slots, ?) = 0 LIMIT 5)",
                    (window, slots[0]),
                )
        world.seal(window)
        close_windows(world.issuer)
        world.tell()
        world.deliver()
        if set(slots) <= set(_slots_at_the_analyser(world, window)):
            seen.append(window)
        work(world.analyzer)
        world.shuffler.storage.forget()
    charged = world.charged()
    world.close()
    assert len(seen) == 5
    assert len(charged) <= windows_paid(task)
    assert on_the_page("say falsely that it destroyed the reports of a window")


def _slots_at_the_analyser(world: PartyWorld, window: int) -> list[bytes]:
    rows = world.analyzer.storage.read(
        "SELECT p.bytes FROM part p JOIN batch b ON b.batch_id = p.batch_id WHERE b.window = ?",
        (window,),
    )
    data, width = b"".join(bytes(row[0]) for row in rows), world.shuffler.record_bytes
    return [data[at : at + 52] for at in range(0, len(data), width)]


def test_an_older_copy_of_the_issuers_file_has_honest_windows_quarantined(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """The page: "The issuer's file from an older copy [...] does not count who was served since:
    the rule may then release what it would refuse, and a window in which more send than are
    counted is quarantined": everybody follows the protocol.
    """
    world = WholeWorld(tmp_path, fast=True)
    world.open_window()
    assert [world.take_part(person) for person in "abc"] == [202] * 3
    world.close()
    older = copy_of(tmp_path, "issuer.sqlite")
    world._open()
    assert [world.take_part(person) for person in "de"] == [202] * 2
    world.close()
    put_in_place(tmp_path, "issuer.sqlite", older)
    world._open()
    said = world.end()
    world.close()
    assert said["state"] == "QUARANTINED"
    assert on_the_page("a window in which more send than are counted is quarantined")


def test_an_older_copy_of_the_database_gives_the_same_bytes_of_a_refused_window_if_nothing_comes(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """The protocol, 7: "it is **stored** beside the inner keys before it is told, and an older
    copy of the database tells the same bytes, whatever comes".

    The database is from before the batch came, ledger and keys are those of now. The shuffler's
    batch was acknowledged, so nothing comes, and a collector is told that there is no batch.
    """
    world = PartyWorld(tmp_path, small_task())
    world.open_window()
    world.send_many(13)
    world.seal()
    older = _copies(world)["analyzer.sqlite"]
    world.deliver()
    assert world.tell_served(12) == 201
    work(world.analyzer)
    ended = read_result(world.analyzer, WINDOW, now=world.now)
    assert ended[0] == 403
    world.close()
    put_in_place(tmp_path, "analyzer.sqlite", older)
    world._open()
    again = []
    for _ in range(2):
        work(world.analyzer)
        again.append(read_result(world.analyzer, WINDOW, now=world.now))
        world.go_to(world.now + KEY_SECONDS + 1)
    world.close()
    assert again == [ended, ended]


@pytest.mark.parametrize("fails", [False, True])
def test_a_counted_window_whose_number_is_there_is_not_ended_for_a_fault_of_a_moment(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
    fails: bool,
) -> None:
    """The protocol, 7: "tried again where a disk or a server fails in a way that may go, for the
    day that its key stays; a batch that is counted, and whose number of accounts is there, is never
    ended so".

    The issuer is away for a week. In the round that would end the window the database's disk is
    full for a moment. Then the number comes, before the next round.
    """
    world = PartyWorld(tmp_path, small_task())
    world.open_window()
    world.send_many(13)
    world.seal()
    world.deliver()
    work(world.analyzer)
    world.go_to(world.now + KEY_SECONDS + (1 if fails else -60))

    def full(*_: object) -> None:
        raise sqlite3.OperationalError("database or disk is full")

    if fails:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(world.analyzer.cards, "end", full)
            with pytest.raises(StorageFull):
                work(world.analyzer)
    assert world.result().get("state") not in {"REFUSED", "RELEASED"}
    assert world.tell_served(13) == 201
    work(world.analyzer)
    said = world.result()
    world.close()
    assert said["state"] == "RELEASED", said["reason"]


def test_no_signature_in_another_spelling_is_a_token_of_ones_own(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """The page: who reads the shuffler's store can "knock people out [...] if M is 1, with a token
    of its own".

    Without one: s + n and n - s are no other signatures of a slot, so the report of one slot is
    the one that is there, and another pass is answered 403 or 409; nobody is left out.
    """
    world = PartyWorld(tmp_path, small_task())
    world.open_window()
    modulus, tried = issuer_key().public.n, 0
    for _ in range(12):
        report = world.report()
        assert world.send(report) is Taken.ACCEPTED
        number = int.from_bytes(report.signatures[0], "big")
        assert world.send(report) is Taken.OTHER_REPORT
        for other in (number + modulus, modulus - number, number + 2 * modulus):
            if other < 1 << 2048:
                tried += 1
                signature = other.to_bytes(256, "big")
                changed = Report(report.card_digest, report.slots, (signature,))
                assert world.send(changed) is Taken.UNSIGNED
    assert tried >= 12
    assert world.finish(12)["users"] == 12
    world.close()


@pytest.mark.parametrize("served", [12, 11, 40])
def test_whatever_the_end_of_a_window_no_other_batch_gives_another(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
    served: int,
) -> None:
    """The page: the shuffler alone can "leave people out", but "RELEASED, REFUSED, QUARANTINED are
    final": it cannot try another batch, or the same one, under another name after any end.
    """
    world = PartyWorld(tmp_path, small_task())
    world.open_window()
    records = [record for _ in range(14) for record in world.report().records]
    world.go_to((WINDOW + 1) * HOUR + world.task.grace_seconds)
    assert hand_over(world, records[:12], WINDOW, b"1" * 16) == [201, 201]
    assert world.tell_served(served) == 201
    work(world.analyzer)
    ended = read_result(world.analyzer, WINDOW, now=world.now)
    assert ended[0] == (200 if served == 12 else 403)
    for name, batch in ((b"2", records[:12]), (b"3", records[1:13]), (b"1", records[2:])):
        answers = hand_over(world, batch, WINDOW, name * 16)
        assert answers[0] == 409
        assert answers[1] in {404, 422}
        world.restart()
        work(world.analyzer)
        assert read_result(world.analyzer, WINDOW, now=world.now) == ended
    assert world.charged() == ([WINDOW] if served == 12 else [])
    world.close()


def _send_slot(world: WholeWorld, person: str, slot: bytes) -> None:
    """Let a false user send a slot, with a token of its own from the issuer."""
    card, seed = world.card(), person.encode().ljust(32)
    assert world.task.issuer is not None
    tokens = SlotTokens(card, issuer_name=world.task.issuer.name, origin=world.task.origin)
    body = tokens.request([slot], seed=seed)
    account = world.issuer.admit(world.invitation_of(person), WINDOW, len(body))
    assert isinstance(account, Account)
    answer = world.issuer.answer(account, body)
    assert isinstance(answer, bytes)
    signatures = tokens.finalize([slot], seed=seed, answer=answer)
    report = Report(card.digest, (slot,), tuple(signatures))
    assert world.send(report, world.pass_of(person)) is Taken.ACCEPTED


@pytest.mark.parametrize("largest", [7, 8])
@pytest.mark.parametrize("false_ones", ["send nothing", "send one slot"])
def test_what_false_users_in_the_share_can_have_refused_is_on_the_page(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
    false_ones: str,
    largest: int,
) -> None:
    """The page: "Users in the share assumed dishonest cannot have a batch of the two sums or a
    histogram quarantined, but move it by what is printed, each; those that take tokens and send
    nothing can have it refused, unless (1 - 2 gamma) X and `max_batch` - floor(gamma X) reach h0,
    and the smallest batch is there without them. Those that send reports which share slots [...]:
    `max_batch` less floor(gamma X) and these passes must reach h0 then".

    Of 10 that are served 2 are false, as assumed: the two send the same slot, each with a token of
    its own, and take two places of seven. When the window is sealed both are left out, three honest
    people had been sent away, and the rule refuses the rest. With one place more it is released.
    """
    task = weak_task(honest_share="0.8", min_batch=5, max_batch=largest)
    world = WholeWorld(tmp_path, task, fast=True)
    world.open_window()
    served, gamma = 10, Fraction(1, 5)
    assert task.dishonest(served) == 2
    assert (1 - 2 * gamma) * served >= task.fewest_honest == 4
    is_safe = task.max_batch - 2 * task.dishonest(served) >= task.fewest_honest
    assert is_safe == (largest == 8)
    (slot,) = seal_slots(task.values(1), world.card())
    for person in ("false", "falser"):
        if false_ones == "send one slot":
            _send_slot(world, person, slot)
        else:
            take_tokens(world, person)
    answers = [world.take_part(f"person {number}") for number in range(8)]
    assert answers.count(202) >= task.min_batch
    said = world.end()
    world.close()
    assert said["accounts_served"] == served
    refused = not is_safe and false_ones == "send one slot"
    assert said.get("state", "RELEASED") == ("REFUSED" if refused else "RELEASED")
    assert on_the_page("`max_batch` less floor(gamma X) and these passes must reach h0 then")


@pytest.mark.parametrize("copied", ["before the card", "while it is open"])
def test_who_was_lost_by_an_older_copy_of_the_shuffler_may_find_no_marks(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
    copied: str,
) -> None:
    """The page: "The shuffler's database from an older copy is refused beside its keys from now, if
    a window that is open in it was closed since; else what came since is lost, which those people
    see in the marks; there are none where the copy is from before the window's card, or too few are
    left."
    """
    world = PartyWorld(tmp_path, small_task())
    world.close()
    older = copy_of(tmp_path, "shuffler.sqlite")
    world._open()
    world.open_window()
    if copied == "while it is open":
        world.send_many(5)
        world.close()
        older = copy_of(tmp_path, "shuffler.sqlite")
        world._open()
    world.send_many(13)
    world.close()
    put_in_place(tmp_path, "shuffler.sqlite", older)
    world._open()
    world.seal()
    marks = world.shuffler.marks(WINDOW)
    world.close()
    assert marks is None
    assert on_the_page("where the copy is from before the window's card, or too few are left")
