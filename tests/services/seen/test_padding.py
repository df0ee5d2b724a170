"""Tests 54 and 59: the number and size of messages say nothing, and the audit sees when they do.

In the one-bit histogram a user sends x + Bernoulli messages: their number is the bit, nearly in
the clear. The services send two slots whatever the number is; the mutant sends them unpadded.
"""

from __future__ import annotations

import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from smoothdp import ApproxDP
from smoothdp.services.analyzer.analyzer_party import AnalyzerParty
from smoothdp.services.client.client import Client
from smoothdp.services.client.outcomes import OutcomeStore
from smoothdp.services.client.submit import submit
from smoothdp.services.formats.design.values import DUMMY
from smoothdp.services.formats.report import sealed_bytes
from smoothdp.services.formats.slots import seal_slots
from smoothdp.services.formats.task import Task
from smoothdp.services.issuer.issuer_party import IssuerParty, issue_invitations
from smoothdp.services.operations.clock_guard import ClockGuard
from smoothdp.services.shuffler.ingest import Taken
from smoothdp.services.shuffler.shuffler_party import ShufflerParty, issue_passes
from smoothdp.services.wire.calls import connect
from smoothdp.services.wire.running import on_loopback
from smoothdp.shuffle import ZeroPreservingCount
from tests.services.seen.audit import audit
from tests.services.worlds import party_world
from tests.services.worlds.directories import party_directories
from tests.services.worlds.party_world import WINDOW
from tests.services.worlds.relay import relayed
from tests.services.worlds.small_tasks import small_task

NAMES = ("a", "b", "c")
PROTOCOLS: dict[str, tuple[dict[str, Any], list[Any]]] = {
    "boolean_sum": ({}, [0, 1]),
    "real_sum": ({"size": 3, "bounds": ("0", "1")}, [0, 0.5, 1]),
    "histogram": ({"domain": NAMES, "min_batch": 16}, ["a", "b", "c"]),
    "low_communication_histogram": ({"domain": NAMES, "min_batch": 60}, ["a", "b", "c"]),
    "paired_count": ({}, [0, 1]),
    "paired_histogram": ({"domain": NAMES}, ["a", "b", "c"]),
    "split_sum": ({"bounds": ("0", "10")}, [0, 5, 10]),
}
SLOW = ("paired_histogram", "low_communication_histogram", "paired_count")
BY_SPEED = [pytest.param(p, marks=pytest.mark.slow if p in SLOW else ()) for p in PROTOCOLS]


@pytest.mark.parametrize("protocol", BY_SPEED)
def test_54_all_bytes_of_every_connection(tmp_path: Path, protocol: str) -> None:
    """Card, tokens and report, both ways, through relays before the real issuer and shuffler."""
    options, data = PROTOCOLS[protocol]
    made = party_directories(tmp_path, protocol, window_seconds=10**6, **options)
    now = [WINDOW * 10**6 + 600.0]

    def clocks() -> ClockGuard:
        return ClockGuard(wall=lambda: now[0], boot=lambda: now[0] - 1000)

    with ExitStack() as stack:
        analyzer = AnalyzerParty.from_directory(made.analyzer, clocks=clocks())
        shuffler = ShufflerParty.from_directory(made.shuffler, clocks=clocks())
        issuer = IssuerParty.from_directory(made.issuer, clocks=clocks())
        for party in (analyzer, shuffler, issuer):
            stack.callback(party.close)
        url = stack.enter_context(on_loopback(analyzer.app(work_seconds=3600)))
        for working in (shuffler, issuer, shuffler, issuer):
            working.work(url)
        to_issuer, to_shuffler = (
            stack.enter_context(
                relayed(stack.enter_context(on_loopback(party.app(url, work_seconds=3600))))
            )
            for party in (issuer, shuffler)
        )
        outcomes = OutcomeStore(tmp_path / "clients.sqlite")
        stack.callback(outcomes.close)
        people = 2 * len(data)
        passes = issue_passes(made.shuffler, people)
        invitations = issue_invitations(made.issuer, people)
        for person in range(people):
            client = Client(made.task, outcomes, name=str(person), clock=lambda: now[0])
            with connect(to_issuer.address) as asked, connect(to_shuffler.address) as http:
                submit(
                    client,
                    data[person % len(data)],
                    shuffler=http,
                    pass_secret=passes[person],
                    issuer=asked,
                    invitation=invitations[person],
                )
        # Of the issuer's two each ends with its answer: the card, then the tokens.
        for relay, each in ((to_issuer, 2), (to_shuffler, 1)):
            limit = time.monotonic() + 20
            while len(relay.seen) < each * people and time.monotonic() < limit:
                time.sleep(0.02)
            assert len(relay.seen) == each * people
            assert len(set(relay.seen)) == each, set(relay.seen)
        assert to_shuffler.seen[0][0] > sealed_bytes(made.task.slots, made.task.signed)
        tokens = max(to_issuer.seen)
        assert tokens[0] > 259 * made.task.slots
        assert tokens[1] > 256 * made.task.slots
        assert shuffler.shuffler.totals()["pending"] == people


# ---- the mutant that does not pad ----------------------------------------------------------

USERS, EPSILON, DELTA = 8, "1", "0.1"
COUNT = ZeroPreservingCount.calibrate(
    USERS, guarantee=ApproxDP(EPSILON, delta=DELTA), honest_share=1
)


def one_bit_messages(_: Task, datum: int) -> tuple[int, ...]:
    """Return the messages of the one-bit histogram, all alike, filled up to two slots."""
    return tuple(0 if message else DUMMY for message in COUNT.randomize(datum))


@pytest.fixture
def one_bit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> party_world.PartyWorld:
    monkeypatch.setattr(Task, "values", one_bit_messages)
    task = small_task(
        "histogram",
        domain=("one",),
        min_batch=USERS,
        issuer=None,
        proof="none",
        delta="0.2",
        windows=4,
    )
    world = party_world.PartyWorld(tmp_path, task)
    world.open_window()
    return world


def test_59_padded_messages_tell_the_shuffler_nothing(
    one_bit: party_world.PartyWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The real client with the one-bit histogram: its report has one length, whatever it holds."""
    monkeypatch.setattr("smoothdp.services.client.client.read_datum", lambda _, datum: datum)
    store = OutcomeStore(one_bit.folder / "clients.sqlite")
    card = one_bit.shuffler.cards.stored(WINDOW)
    assert card is not None
    lengths: dict[int, list[int]] = {0: [], 1: []}
    for person in range(60):
        client = Client(one_bit.task, store, name=str(person), clock=lambda: one_bit.now)
        client.take_part(person % 2, card=card, window=WINDOW)
        sealed = client.sealed_report(WINDOW)
        lengths[person % 2].append(len(sealed))
        sender = one_bit.shuffler.sender(one_bit.new_pass())
        assert sender is not None
        assert not isinstance(one_bit.shuffler.judge(WINDOW, sender, sealed), Taken)
    store.close()
    one_bit.close()
    assert len({*lengths[0], *lengths[1]}) == 1
    assert audit(lengths, float(DELTA)) <= float(EPSILON)


def test_59_the_audit_finds_messages_without_padding(one_bit: party_world.PartyWorld) -> None:
    view = {x: [sum(COUNT.randomize(x)) for _ in range(400)] for x in (0, 1)}
    assert audit(view, float(DELTA)) > float(EPSILON)
    # And the real shuffler takes no such report.
    slots = seal_slots([0], one_bit.card())
    assert one_bit.send(one_bit.sign(slots)) is Taken.MALFORMED
    one_bit.close()
