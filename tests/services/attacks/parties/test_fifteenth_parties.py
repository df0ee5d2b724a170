"""A fifteenth round: what a shuffler can do over several windows, and laws from the definitions."""

from __future__ import annotations

import hashlib
import itertools
import math
from collections import defaultdict
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import httpx
import pytest
from scipy.stats import nbinom

from smoothdp.errors import InvalidData
from smoothdp.services.analyzer.release import work
from smoothdp.services.client import taking_part
from smoothdp.services.client.client import Client
from smoothdp.services.client.inclusion import Standing
from smoothdp.services.client.outcomes import OutcomeStore
from smoothdp.services.client.taking_part import look_up_report
from smoothdp.services.formats.batch import BatchHeader
from smoothdp.services.formats.design.budget import KEY_SECONDS, windows_paid
from smoothdp.services.formats.design.protocols import Design
from smoothdp.services.formats.marks import MarksFile
from smoothdp.services.formats.slot_tokens import SlotTokens
from smoothdp.services.formats.slots import SLOT_BYTES
from smoothdp.services.issuer.issuer import Account
from smoothdp.services.issuer.window_keys import close_windows
from smoothdp.services.tokens.token import parse_requests
from smoothdp.services.wire.calls import ServiceError
from tests.services.attacks.parties.test_fourteenth_parties import (
    Law,
    added,
    largest_stick,
)
from tests.services.storages import ONLY_SQLITE
from tests.services.worlds.party_world import HOUR, WINDOW, PartyWorld, issuer_key
from tests.services.worlds.small_tasks import SHUFFLER_SIGN
from tests.services.worlds.whole_world import WholeWorld, weak_task

PAGE = Path(__file__).parents[4] / "docs" / "threats.md"
PEOPLE = [f"person {number}" for number in range(6)]


def on_the_page(words: str) -> bool:
    return words in " ".join(PAGE.read_text(encoding="utf-8").split())


# ---- a shuffler that wastes windows --------------------------------------------------------------


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


class LeavesOut(WholeWorld):
    """A shuffler that leaves a person out, and shows this person no marks."""

    def answers(self, request: httpx.Request) -> httpx.Response:
        shown = request.url.host != "victim.example"
        marks = self.shuffler.marks(WINDOW) if shown else None
        return httpx.Response(200 if marks else 404, content=marks or b"")

    def connect(self, address: str) -> httpx.Client:
        return httpx.Client(base_url=address, transport=httpx.MockTransport(self.answers))


@ONLY_SQLITE
def test_who_was_left_out_sees_it_in_a_copy_of_the_marks_if_the_shuffler_shows_none(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The page, of a shuffler that leaves people out: they "see it in the marks, afterwards".

    It shows the file to others alone: the person who was left out is told that there is none, and
    sees it in what somebody else was given.
    """
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    world = LeavesOut(tmp_path, fast=True)
    monkeypatch.setattr(taking_part, "connect", world.connect)
    world.open_window()
    for person in PEOPLE:
        assert world.take_part(person) == 202
    card, digest = world.issuer.card(WINDOW) or b"", world.card().digest
    store = OutcomeStore.of_user()
    client = Client(world.task, store, clock=lambda: world.now)
    client.take_part(1, card=card, window=WINDOW)
    account = world.issuer.admit(world.invitation_of("me"), WINDOW, world.issuer.request_bytes)
    assert isinstance(account, Account)
    answer = world.issuer.answer(account, client.token_request(WINDOW))
    assert isinstance(answer, bytes)
    client.finish(WINDOW, answer)
    client.accepted(WINDOW)  # and is left out
    store.close()
    said = world.end()
    assert (said["state"], said["users"], said["card_digest"]) == ("RELEASED", 6, digest.hex())
    ((result,),) = world.analyzer.storage.read("SELECT body FROM release")

    def asked(**where: Any) -> Standing:
        return look_up_report(world.task, WINDOW, result=bytes(result), **where)

    with pytest.raises(ServiceError, match="404"):
        asked(shuffler="https://victim.example")
    assert asked(marks=world.shuffler.marks(WINDOW)) is Standing.LEFT_OUT
    world.close()
    assert on_the_page("see it in the marks, afterwards (in a copy, if it shows them none)")


# ---- a shuffler that has accounts ----------------------------------------------------------------


def hand_over(
    world: PartyWorld, records: Sequence[bytes], window: int, batch_id: bytes
) -> list[int]:
    """Deliver records under a header that the shuffler signs; return the answers."""
    data, digest = b"".join(records), world.card(window).digest
    header = BatchHeader(
        signed=True,
        card_digest=digest,
        batch_id=batch_id,
        users=len(records),
        slots=len(records),
        part_hashes=(hashlib.sha256(data).digest(),),
        marks_sha256=MarksFile.of(digest, [record[:SLOT_BYTES] for record in records]).sha256,
    ).sign(SHUFFLER_SIGN)
    answers = [world.analyzer.put_batch(batch_id, header.encode())]
    return [*answers, world.analyzer.put_part(batch_id, 0, data)]


def signed_again(world: PartyWorld, slot: bytes) -> bytes:
    """Return another signature of the issuer on a slot, from an account of the shuffler."""
    assert world.task.issuer is not None
    tokens = SlotTokens(world.card(), issuer_name=world.task.issuer.name, origin=world.task.origin)
    asked = parse_requests(tokens.request([slot], seed=b"S" * 32), key=tokens.key, slots=1)
    answer = b"".join(issuer_key().sign(message) for message in asked)
    (signature,) = tokens.finalize([slot], seed=b"S" * 32, answer=answer)
    return bytes(signature)


@ONLY_SQLITE
@pytest.mark.parametrize("twice", [False, True])
def test_a_slot_that_an_account_of_the_shuffler_gets_signed_again_counts_once(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
    twice: bool,
) -> None:
    """The page: "count somebody twice; exchange slots [...] every slot needs a token, which is for
    these bytes alone". The shuffler asks for another token for a slot that it was sent: good, but
    with both nothing is released, and in the place of the first it changes nothing.
    """
    world = PartyWorld(tmp_path)
    world.open_window()
    records = [record for _ in range(14) for record in world.report(1).records]
    slot = records[0][:SLOT_BYTES]
    again = slot + signed_again(world, slot)
    assert again != records[0]
    batch = [again, *records[1:], *(records[:1] if twice else [])]
    world.go_to((WINDOW + 2) * HOUR)
    assert hand_over(world, batch, WINDOW, bytes(16)) == [201, 201]
    world.tell_served(15)
    work(world.analyzer)
    said = world.result()
    assert said["state"] == ("QUARANTINED" if twice else "RELEASED")
    assert said.get("users") == (None if twice else 14)
    assert world.charged() == ([] if twice else [WINDOW])
    world.close()


@ONLY_SQLITE
@pytest.mark.parametrize("released", [False, True])
def test_one_name_for_the_batches_of_two_windows_gives_the_first_alone(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
    released: bool,
) -> None:
    """A shuffler that follows draws a batch id for each batch. With the id of another window's
    batch, that has its result or still waits for parts, nothing of either is mixed.
    """
    world = PartyWorld(tmp_path)
    batches = {}
    for window in (WINDOW, WINDOW + 1):
        world.go_to(window * HOUR + 700)
        world.open_window(window)
        batches[window] = [r for _ in range(14) for r in world.report(1, window).records]
    world.go_to((WINDOW + 3) * HOUR)
    first, second = batches.values()
    if released:
        assert hand_over(world, first, WINDOW, bytes(16)) == [201, 201]
        world.tell_served(14)
        work(world.analyzer)
        assert hand_over(world, second, WINDOW + 1, bytes(16)) == [409, 422]
    else:
        data = hashlib.sha256(b"".join(second)).digest()
        digest = world.card(WINDOW).digest
        # The header of the first window announces the part of the second.
        marks = MarksFile.of(digest, [record[:SLOT_BYTES] for record in second]).sha256
        header = BatchHeader(True, digest, bytes(16), 14, 14, (data,), marks).sign(SHUFFLER_SIGN)
        assert world.analyzer.put_batch(bytes(16), header.encode()) == 201
        assert hand_over(world, second, WINDOW + 1, bytes(16)) == [409, 201]
        world.tell_served(14)
        work(world.analyzer)
    said = world.result(WINDOW)
    assert said["state"] == ("RELEASED" if released else "QUARANTINED")
    world.tell_served(14, WINDOW + 1)
    work(world.analyzer)
    assert "sum" not in world.result(WINDOW + 1)
    assert world.charged() == ([WINDOW] if released else [])
    world.close()


# ---- laws from the definitions -------------------------------------------------------


def zero_preserving_by_hand(design: Design) -> tuple[Law, Law, Law]:
    sends = 1 - float(Fraction(design.noise))
    noise = {
        sent: math.prod(sends if one else 1 - sends for one in sent)
        for sent in itertools.product((0, 1), repeat=design.size)
    }
    return noise, {(1, 0, 0): 1.0}, {(0, 1, 0): 1.0}


def paired_bins_by_hand(design: Design) -> tuple[Law, Law, Law]:
    share = nbinom(1 / design.n_honest_design, -math.expm1(-float(Fraction(design.noise))))
    chance, most = (
        float(design.parameter("clump_probability")),
        int(design.parameter("largest_clump")),
    )
    weights = [1 / pairs for pairs in range(1, most + 1)]
    clumps = [1 - chance, *(chance * weight / sum(weights) for weight in weights)]
    one: defaultdict[tuple[int, int], float] = defaultdict(float)
    room = range(design.slots)
    for minus, plus, pairs in itertools.product(room, room, range(most + 1)):
        if minus + plus + 2 * pairs < design.slots:
            signs = float(share.pmf(minus) * share.pmf(plus)) * clumps[pairs]
            one[minus + pairs, plus + pairs] += signs
    law: defaultdict[tuple[int, ...], float] = defaultdict(float)
    for (first, p), (second, q) in itertools.product(one.items(), repeat=2):
        if sum(first) + sum(second) < design.slots:
            law[first + second] += p * q
    return dict(law), {(0, 1, 0, 0): 1.0}, {(0, 0, 0, 1): 1.0}


@pytest.mark.parametrize(
    ("design", "by_hand"),
    [
        (Design("histogram", 3, "1/3", (), 4), zero_preserving_by_hand),
        (Design("paired_histogram", 2, "2", ("1/3", "1", "2"), 5), paired_bins_by_hand),
    ],
)
def test_no_histogram_by_hand_is_taken_that_its_devices_do_not_keep(
    design: Design, by_hand: Any
) -> None:
    """The protocol: a task MUST be refused unless its honest users keep the promise "by the exact
    accountant": against what its devices send in all bins, cell by cell, with noise drawn again.
    """
    noise, first, second = by_hand(design)
    whole = sum(noise.values())
    users: Law = {tuple([0] * len(next(iter(first)))): 1.0}
    for honest in (1, 2, 3):
        users = added(users, {key: p / whole for key, p in noise.items()})
        for epsilon in ("1/5", "1", "3"):
            stick = largest_stick(added(users, first), added(users, second), epsilon)
            assert stick <= float(design.delta(epsilon, honest)) * (1 + 1e-9) + 1e-13
