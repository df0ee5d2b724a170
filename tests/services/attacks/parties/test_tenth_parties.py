"""What the page of threats says of parties and of pairs of them, on histories of its own."""

from __future__ import annotations

import hashlib
import json
import math
import random
import sqlite3
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import nbinom

from smoothdp.claims import ApproxDP
from smoothdp.errors import InvalidData
from smoothdp.services.analyzer.counting import count_complete
from smoothdp.services.analyzer.release import LAPSED, NOT_COUNTED, read_result, work
from smoothdp.services.analyzer.window_cards import key_scope
from smoothdp.services.client.inclusion import Standing, look_up, read_evidence
from smoothdp.services.formats.batch import BatchHeader
from smoothdp.services.formats.marks import MarksFile
from smoothdp.services.formats.reading import DecodeError
from smoothdp.services.formats.report import Report, seal_report
from smoothdp.services.formats.result import SignedResult
from smoothdp.services.formats.slots import SLOT_BYTES, open_slot, seal_slots
from smoothdp.services.issuer.issuer import Account
from smoothdp.services.issuer.issuer_party import issue_invitations
from smoothdp.services.issuer.window_keys import close_windows
from smoothdp.services.operations.clock_guard import Verdict
from smoothdp.services.operations.logs import PutOff
from smoothdp.shuffle import PairedCount
from tests.services.storages import ONLY_SQLITE
from tests.services.worlds.party_world import HOUR, WINDOW, PartyWorld
from tests.services.worlds.small_tasks import ANALYZER_SIGN, SHUFFLER_SIGN, small_task
from tests.services.worlds.three_parties import Parties
from tests.services.worlds.whole_world import WholeWorld, weak_task

pytestmark = ONLY_SQLITE


# ---- who reads the shuffler's store --------------------------------------------------------------


def test_who_reads_the_store_knocks_people_out_with_a_pass_alone(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """The page: "knock people out (a pass of its own for each M of them".

    Where reports have more slots than one, records of several people, with the tokens that are on
    them, are a report of nobody's: a pass is enough, and the issuer has never seen the reader.
    """
    task = small_task("real_sum", size=4, epsilon="60", min_batch=3, honest_share="1")
    world = WholeWorld(tmp_path, task, fast=True)
    world.open_window()
    for person in range(8):
        assert world.take_part(f"person {person}", 0.5) == 202
    rows = world.shuffler.storage.read("SELECT slots FROM pending")
    width = world.shuffler.record_bytes
    records = sorted(bytes(row[0])[:width] for row in rows[:4])
    copied = Report(
        world.card().digest,
        tuple(record[:SLOT_BYTES] for record in records),
        tuple(record[SLOT_BYTES:] for record in records),
    )
    world.post(WINDOW, world.pass_of("reader"), seal_report(copied.encode(), world.card()))
    (sealed,) = world.seal()
    close_windows(world.issuer)
    world.tell()
    assert world.analyzer.accounts_served(WINDOW) == 8, "the reader asked for no token"
    assert (sealed.users, sealed.shared) == (4, 5)
    world.close()


# ---- what an issuer sees afterwards --------------------------------------------------------------


def test_who_asks_again_though_the_budget_was_used_up_shows_that_nothing_was_sent(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """Under "What nothing here stands against".

    Its answer to one person is lost on the way. The budget pays for one window; the analyser's
    side refuses it, and gives tokens for the next one: of all whom it has served only that person
    asks again, and so sent nothing. Whose report was lost on its way to the shuffler is not told.
    """
    world = WholeWorld(tmp_path, weak_task(windows=1), fast=True)
    world.open_window()
    people = [f"person {n}" for n in range(4)]
    for person in people:
        assert world.take_part(person) == 202
    world.take_part("no answer", lose=("tokens answer",))
    world.take_part("no report", lose=("reports request",))
    world.seal()
    close_windows(world.issuer)
    world.tell_served(1)
    world.deliver()
    work(world.analyzer)
    assert world.result()["state"] == "QUARANTINED"
    world.go_to((WINDOW + 1) * HOUR + 700)
    world.clocks[-1].heard(world.now)
    world.open_window(WINDOW + 1)
    again = []
    for person in [*people, "no answer", "no report"]:
        client = world.client(person)
        client.settle()
        # What `submit` finds before it turns to the issuer.
        if not client.spent():
            assert world.take_part(person, window=WINDOW + 1) == 202
            again.append(person)
    assert again == ["no answer"]
    world.close()


# ---- clocks that do not agree --------------------------------------------------------------------


def test_while_clocks_disagree_a_batch_goes_on_whose_header_came_before(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """On hold A takes no header; "what it has taken before, of a window that was over", goes on:
    by two clocks it was over when the header came.
    """
    world = WholeWorld(tmp_path, fast=True)
    world.open_window()
    for person in range(4):
        assert world.take_part(f"person {person}") == 202
    world.seal()
    close_windows(world.issuer)
    world.tell()
    batch_id, header = world.shuffler.storage.read("SELECT batch_id, header FROM batch")[0]
    assert world.put(f"/v2/batches/{bytes(batch_id).hex()}", bytes(header)) == 201
    for clocks in world.clocks:
        clocks.heard(world.now + 2 * 86_400)
    assert world.analyzer.verdict(WINDOW) is Verdict.HOLD
    ((part,),) = world.shuffler.storage.read("SELECT bytes FROM batch_part")
    assert world.put(f"/v2/batches/{bytes(batch_id).hex()}/parts/0", bytes(part)) == 201
    assert work(world.analyzer) == 1
    assert world.analyzer.cards.inner_key(WINDOW) is None
    world.close()


# ---- an analyser that denies all -----------------------------------------------------------------


def test_an_analyser_that_denies_a_whole_batch_has_no_result_and_is_not_shown(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """The page: that it "had all of a window that it refuses, is not shown".

    It takes all of the batch, opens it, and signs that nothing more came: whoever looks up is told
    that there is nothing to look up, and counts the window all the same.
    """
    world = WholeWorld(tmp_path, fast=True)
    world.open_window()
    for person in range(4):
        assert world.take_part(f"person {person}") == 202
    world.seal()
    assert world.deliver() == 1
    count_complete(world.analyzer)
    assert sum(world.tally().values()) == 4, "the analyser has seen what everybody sent"
    said = {"task_id": world.task.task_id.hex(), "window": WINDOW}
    denial = SignedResult.sign(said | {"state": "REFUSED", "reason": LAPSED}, ANALYZER_SIGN)
    marks, kept = world.shuffler.marks(WINDOW), world.client("person 0").kept(WINDOW)
    assert marks is not None
    with pytest.raises(InvalidData, match="nothing more came"):
        look_up(world.task, WINDOW, kept, result=denial.encode(), marks=marks)
    assert world.stores["clients"].windows(world.task.task_id, "person 0") == [WINDOW]
    world.close()


def test_an_analyser_that_cannot_open_what_came_does_not_sign_that_nothing_came(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """Its file of window keys was lost: the whole batch came in time, and cannot be counted.

    That "nothing more came of this window" would be the shuffler's fault.
    """
    world = PartyWorld(tmp_path)
    world.open_window()
    world.send_many(12)
    world.seal()
    world.keys[1].erase([key_scope(world.task.task_id, WINDOW)])
    assert world.deliver() == 1
    assert world.tell_served(12) == 201
    work(world.analyzer)
    assert world.analyzer.batch_states() == {"COMPLETE": 1}
    world.go_to(world.now + 7 * 86_400)
    work(world.analyzer)
    document = world.result()
    assert document["state"] == "REFUSED"
    assert document["reason"] == NOT_COUNTED
    world.close()


# ---- a slot in another spelling ------------------------------------------------------------------


def test_a_slot_with_another_spelling_of_its_key_is_no_second_vote(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """A shuffler with an account copies somebody's slot, with the bit that X25519 ignores set.

    The bytes are others, and so are nonce and mark, and a token of its own is good for them; were
    the shared secret all that is hashed, it would be the same vote once more.
    """
    world = PartyWorld(tmp_path)
    world.open_window()
    victim = world.report(1)
    world.send_many(11)
    ((slot,),) = (victim.slots,)
    copy = slot[:31] + bytes([slot[31] ^ 0x80]) + slot[32:]
    key = world.analyzer.cards.inner_key(WINDOW)
    assert key is not None
    assert open_slot(slot, world.card(), key) in (0, 1)
    with pytest.raises(DecodeError):
        open_slot(copy, world.card(), key)
    assert world.send(victim).value == 202
    assert world.send(world.sign([copy])).value == 202
    document = world.finish(accounts=13)
    assert (document["state"], document["users"], document["invalid_slots"]) == ("RELEASED", 13, 1)
    world.close()


# ---- a shuffler that does whatever it likes ------------------------------------------------------


def hand_over(world: PartyWorld, records: list[bytes], users: int, marks: list[bytes]) -> bool:
    """Deliver records under a header that the shuffler signs; whether all of it was taken."""
    data, digest = b"".join(records), world.card().digest
    header = BatchHeader(
        signed=True,
        card_digest=digest,
        batch_id=bytes(16),
        users=users,
        slots=len(records),
        part_hashes=(hashlib.sha256(data).digest(),),
        marks_sha256=MarksFile.of(digest, marks).sha256,
    ).sign(SHUFFLER_SIGN)
    answers = [world.analyzer.put_batch(bytes(16), header.encode())]
    if answers == [201]:
        answers.append(world.analyzer.put_part(bytes(16), 0, data))
    return answers == [201, 201]


@pytest.mark.parametrize("seed", range(24))
def test_what_is_released_has_slots_of_so_many_honest_users_whatever_the_shuffler_did(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
    seed: int,
) -> None:
    """Slots left out one by one, copied, invented, under other tokens, other numbers of users.

    Of what is released at least h0 M slots are those of honest people, none of them twice, and
    never more of them are false than the shuffler's accounts paid for.
    """
    dice = random.Random(seed)
    task = small_task("real_sum", size=2, epsilon="4", min_batch=12, honest_share="0.75")
    world = PartyWorld(tmp_path, task)
    world.open_window()
    n_honest, n_own = dice.randrange(9, 15), dice.randrange(0, 7)
    served = n_honest + n_own
    honest = [record for _ in range(n_honest) for record in world.report(0.5).records]
    own = [record for _ in range(n_own) for record in world.report(1).records]
    users = dice.randrange(11, 16)
    pool = dice.sample(honest, len(honest)) + own
    if dice.random() < 0.5:
        # As many of its own as there are, then honest ones.
        pool.reverse()
    records = pool[: 2 * users]
    trick = dice.choice(["none", "none", "none", "copy", "invent", "move", "marks", "users"])
    if trick == "copy":
        records[0] = records[-1]
    elif trick == "invent":
        records[0] = seal_slots([1], world.card())[0] + records[0][SLOT_BYTES:]
    elif trick == "move":
        first, second = records[:2]
        records[:2] = [first[:SLOT_BYTES] + second[SLOT_BYTES:], second[:52] + first[SLOT_BYTES:]]
    slots = [record[:SLOT_BYTES] for record in records]
    marks = [*slots[1:], honest[-1][:52] + b"x"] if trick == "marks" else slots
    told = len(records) // 2 + (trick == "users")
    world.seal()
    taken = hand_over(world, records, told, marks)
    assert world.tell_served(served) == 201
    work(world.analyzer)
    document = world.result()
    is_released = document["state"] == "RELEASED"
    of_honest = {record[:SLOT_BYTES] for record in honest} & set(slots)
    false = len(slots) - len(of_honest)
    enough = task.keeps_promise(told - served // 4)
    genuine = trick == "none" and len(records) == 2 * told and 12 <= told <= served
    assert is_released is (taken and genuine and enough)
    if is_released:
        assert false <= 2 * n_own
        if n_own <= served // 4:
            assert len(of_honest) >= 2 * task.fewest_honest
    world.close()


# ---- the shuffler decides how many are served ----------------------------------------------------


def test_a_shuffler_that_gives_its_card_late_decides_how_many_are_served(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """Forty people ask in the window, and there is no card; at its end one of them, and 11 others.

    The 11 are the shuffler's: as the page and the result say, so many of the 12 *served* single
    somebody out. That 51 are invited changes nothing: how many are served is the shuffler's say.
    """
    world = WholeWorld(tmp_path, small_task(epsilon="4", honest_share="0.75"), fast=True)
    for person in range(40):
        assert world.take_part(f"person {person}") == 404
    world.go_to((WINDOW + 1) * HOUR - 30)
    world.clocks[-1].heard(world.now)
    world.open_window()
    for account in range(11):
        assert world.take_part(f"own {account}", 0) == 202
    assert world.take_part("person 0") == 202
    document = world.end()
    assert (document["state"], document["accounts_served"]) == ("RELEASED", 12)
    assert "A shuffler with 11 accounts" in document["sentence"]
    world.close()


def test_a_shuffler_that_tells_a_false_time_stops_and_starts_tokens_for_everybody(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The analyser holds then, tells the issuer no time, and ten minutes later nobody is served.

    The next true time opens the window again: when tokens are given is the shuffler's say too.
    """
    with ExitStack() as stack:
        parties = Parties(tmp_path, stack)
        parties.round()
        parties.round()
        issuer, clocks = parties.issuer.issuer, parties.shuffler.shuffler.clocks
        (invitation,) = issue_invitations(tmp_path / "issuer", 1)

        def is_served() -> bool:
            asked = issuer.admit(invitation, WINDOW, issuer.request_bytes)
            return isinstance(asked, Account)

        assert is_served()
        with monkeypatch.context() as lie:
            lie.setattr(clocks, "to_tell", lambda: parties.now + 120)
            for _ in range(11):
                parties.now += 60
                parties.shuffler.work(parties.url)
                with pytest.raises(PutOff, match="tells no time"):
                    parties.issuer.work(parties.url)
        assert not is_served()
        parties.round()
        assert is_served()


# ---- a shuffler on an older copy of its database, beside its newest keys -------------------------


def older_copy(world: WholeWorld, people: list[str], after: list[str]) -> None:
    """Let people take part, copy the shuffler's database, go on; put the copy in its place.

    The file of its keys stays that of now: the window's key is erased in it.
    """
    for person in people:
        assert world.take_part(person) == 202
    with (
        closing(sqlite3.connect(world.folder / "shuffler.sqlite")) as now,
        closing(sqlite3.connect(world.folder / "copy")) as then,
    ):
        now.backup(then)
    for person in after:
        assert world.take_part(person) == 202
    assert world.end()["state"] == "RELEASED"
    assert world.shuffler.cards.kept() == [], "the key of the window is gone: it was sealed"
    world.close()
    for path in world.folder.glob("shuffler.sqlite*"):
        path.unlink()
    (world.folder / "copy").rename(world.folder / "shuffler.sqlite")
    (world.folder / "shuffler.sqlite").chmod(0o600)
    world._open()


def test_a_shuffler_on_an_older_copy_hands_over_no_second_batch_of_a_window(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """Of one person who came after the copy was made the two batches would differ by the slots
    alone: an analyser that has kept the window's key would read them without a single pass.
    """
    world = WholeWorld(tmp_path, fast=True)
    world.open_window()
    with pytest.raises(InvalidData, match="an older copy, in which window"):
        older_copy(world, [f"person {n}" for n in range(4)], ["late"])


def test_a_shuffler_on_an_older_copy_does_not_say_that_it_destroyed_what_it_handed_over(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """The copy is from before the first report: the window would be sealed again, with nobody, and
    410. Clients would count it no more then, and answer in one more than the budget pays for.
    """
    world = WholeWorld(tmp_path, fast=True)
    world.open_window()
    with pytest.raises(InvalidData, match="an older copy, in which window"):
        older_copy(world, [], [f"person {n}" for n in range(4)])


# ---- a row of the tables -------------------------------------------------------------------------


@pytest.mark.parametrize("honest", [900, 750, 500, 250, 100])
def test_the_row_of_paired_counts_is_never_below_the_law_of_their_signs(
    storage_kind: str,  # noqa: ARG001
    honest: int,
) -> None:
    """The law of all signs of so many honest users, added up cell by cell, at the figures printed.

    Neither the sums of the proof nor anything of the library: signs of negative binomial laws of a
    share each, clumps of pairs, one more + or one more -.
    """
    printed = dict(zip((900, 750, 500, 250, 100), (1.0, 1.234, 1.813, 2.835, 4.54), strict=True))
    made = PairedCount.calibrate(1000, guarantee=ApproxDP(1, delta="1e-6"), honest_share="0.9")
    size, most = 700 if honest > 300 else 300, made.largest_clump
    p, shape = math.exp(-float(made.noise_rate)), honest / made.n_honest_design
    signs = nbinom(shape, 1 - p).pmf(np.arange(size))
    clump = np.zeros(size)
    clump[0] = 1 - float(made.clump_probability)
    harmonic = sum(1 / j for j in range(1, most + 1))
    clump[1 : most + 1] = [
        float(made.clump_probability) / (j * harmonic) for j in range(1, most + 1)
    ]
    pairs = np.fft.irfft(np.fft.rfft(clump, 4 * size) ** honest, 4 * size)[:size].clip(0)
    # By plus signs and the difference of the two: pairs do not change it.
    law = {}
    for apart in range(-45, 46):
        minus = np.arange(size) - apart
        there = (minus >= 0) & (minus < size)
        both = np.where(there, signs * signs[minus.clip(0, size - 1)], 0)
        law[apart] = np.convolve(pairs, both)[:size]
    delta = sum(
        (law[at + 1][1:] - math.exp(printed[honest]) * law[at - 1][:-1]).clip(0).sum()
        + law[at + 1][0]
        for at in range(-44, 45)
    )
    assert 0.9e-6 < delta <= 1e-6


# ---- what a malicious analyser signs -------------------------------------------------------------


def test_whatever_the_analyser_signs_is_looked_up_or_refused_in_words(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """Fields of other kinds, none, too long; text that is no document: words, and no praise."""
    world = WholeWorld(tmp_path, fast=True)
    world.open_window()
    for person in range(3):
        assert world.take_part(f"person {person}") == 202
    assert world.end()["state"] == "RELEASED"
    _, body = read_result(world.analyzer, WINDOW, now=world.now)
    true, kept = SignedResult.decode(body).document, world.client("person 0").kept(WINDOW)
    values: list[Any] = [None, True, 1.5, "", "00", "zz", [], {}, "ab" * 40, 10**30, "0" * 99_999]
    texts = ['{"window":' + "9" * 5000 + "}", "[" * 100_000, '"\\ud800"', '{"window":NaN}', ""]
    for field in ("task_id", "window", "card_digest", "marks_sha256", "batch_header"):
        texts += [json.dumps(true | {field: value}) for value in values]
        texts.append(json.dumps({name: true[name] for name in true if name != field}))
    for text in texts:
        signature = ANALYZER_SIGN.sign("result", hashlib.sha256(text.encode()).digest())
        signed = json.dumps({"result": text, "signature": signature.hex()}).encode()
        try:
            said = look_up(world.task, WINDOW, kept, result=signed, marks=b"")
        except InvalidData:
            continue
        assert said in (Standing.DENIED, Standing.OTHER_CARD)
    assert read_evidence(world.task, WINDOW, body).header.users == 3
    world.close()
