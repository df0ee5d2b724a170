"""Clocks that are set, that disagree, or that stood still: nothing is closed or destroyed early."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterable
from contextlib import suppress
from itertools import product
from pathlib import Path

import httpx
import pytest

from smoothdp.errors import SmoothdpError
from smoothdp.services import check
from smoothdp.services.analyzer.analyzer_party import AnalyzerParty
from smoothdp.services.client.outcomes import OutcomeStore
from smoothdp.services.issuer.window_keys import close_windows
from smoothdp.services.operations.clock_guard import ClockGuard, Hold, Verdict
from smoothdp.services.shuffler.sealing import seal_due
from smoothdp.services.wire.running import on_loopback
from tests.services.storages import ONLY_SQLITE
from tests.services.worlds.directories import party_directories
from tests.services.worlds.own_clocks import HOUR, JUMP, PARTIES, USERS, OwnClocks
from tests.services.worlds.party_world import WINDOW
from tests.services.worlds.whole_world import LOST, WholeWorld, weak_task


def restart(parties: OwnClocks, party: str) -> None:
    """Let one party know no more of clocks than after a start; the others go on."""
    clocks = {
        "shuffler": parties.shuffler.shuffler.clocks,
        "analyzer": parties.analyzer.analyzer.clocks,
        "issuer": parties.issuer.issuer.clocks,
    }
    vars(clocks[party]).update(vars(parties._of(party)))


@ONLY_SQLITE
@pytest.mark.parametrize(
    "killed", [PARTIES[0], *(pytest.param(p, marks=pytest.mark.slow) for p in PARTIES[1:])]
)
def test_a_party_that_starts_again_believes_no_clock_that_was_set(
    tmp_path: Path, killed: str
) -> None:
    """All follow one wrong source, and all hold; one is killed and comes back on the wrong time.

    Its own clock has not moved since *its* start, and agrees with the other party's. But that one
    was set since its start: its time is nobody's second clock.
    """
    parties = OwnClocks(tmp_path)
    parties.round()
    store = OutcomeStore(tmp_path / "clients.sqlite")
    parties.take_part(store)
    before = parties.what_can_be_destroyed()
    assert (len(before["reports"]), len(before["accounts"])) == (USERS, USERS)
    parties.wrong = dict.fromkeys(PARTIES, 8 * JUMP)
    parties.round()
    assert parties.what_can_be_destroyed() == before
    restart(parties, killed)
    for _ in range(3):
        parties.round()
    assert parties.what_can_be_destroyed() == before
    # Right again, and all are started again: what was acknowledged is counted.
    parties.wrong = dict.fromkeys(PARTIES, 0.0)
    parties.running.close()
    parties.open()
    parties.now = (WINDOW + 1) * HOUR + 600.0
    parties.round()
    released = parties.analyzer.analyzer.storage.read("SELECT window FROM release")
    assert released == [(WINDOW,)]
    parties.running.close()
    store.close()


@ONLY_SQLITE
def test_a_check_tells_nobody_a_clock_that_the_service_holds(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The threat model: "two clocks must agree, and none may have been set since the start; one
    that was is told to nobody".

    All follow one wrong source, and all hold. The analyser is started again after a crash; at the
    shuffler somebody looks what is wrong, as the guide says: `serve check --peer`.
    """
    parties = OwnClocks(tmp_path)
    parties.round()
    store = OutcomeStore(tmp_path / "clients.sqlite")
    parties.take_part(store)
    before = parties.what_can_be_destroyed()
    assert len(before["reports"]) == USERS
    parties.wrong = dict.fromkeys(PARTIES, 8 * JUMP)
    parties.round()
    restart(parties, "analyzer")
    parties.round()
    assert parties.what_can_be_destroyed() == before
    # A process of its own: its clock has not moved since *its* start.
    monkeypatch.setattr(check, "ClockGuard", lambda: parties._of("shuffler"))
    check.check_party(parties.made.shuffler, peer=parties.url)
    for _ in range(2):
        parties.round()
    after = parties.what_can_be_destroyed()
    parties.running.close()
    store.close()
    assert after == before


@ONLY_SQLITE
def test_an_issuer_destroys_nothing_on_a_time_that_the_shuffler_contradicts(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """The threat model: the promise needs "the clock of one party at least", and nothing stands
    against "clocks that are wrong everywhere from the start".

    Analyser and issuer are one operator's. After a power cut both start two days ahead, by one
    wrong source. The shuffler's clock is right, and the analyser holds; but it tells its time.
    """
    parties = OwnClocks(tmp_path)
    parties.round()
    store = OutcomeStore(tmp_path / "clients.sqlite")
    parties.take_part(store)
    before = parties.what_can_be_destroyed()
    parties.wrong |= {"analyzer": JUMP, "issuer": JUMP}
    for party in ("analyzer", "issuer"):
        restart(parties, party)
    for _ in range(3):
        parties.round()
    after = parties.what_can_be_destroyed()
    parties.running.close()
    store.close()
    assert after == before


@ONLY_SQLITE
@pytest.mark.parametrize("shuffler", ["asks later", "was silent for ten minutes"])
def test_an_issuer_destroys_nothing_before_the_shuffler_could_contradict(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
    shuffler: str,
) -> None:
    """The threat model: the promise needs "the clock of one party at least", and nothing stands
    against "clocks that are wrong everywhere from the start".

    Analyser and issuer, one operator's, start two days ahead by one wrong source. The shuffler's
    clock is right; but the issuer is the first to ask, or the shuffler is away for a while.
    """
    parties = OwnClocks(tmp_path)
    parties.round()
    store = OutcomeStore(tmp_path / "clients.sqlite")
    parties.take_part(store)
    before = parties.what_can_be_destroyed()
    assert len(before["accounts"]) == USERS
    parties.wrong |= {"analyzer": JUMP, "issuer": JUMP}
    for party in ("analyzer", "issuer"):
        restart(parties, party)
    if shuffler == "was silent for ten minutes":
        parties.shuffler.work(parties.url)
        parties.now += 601
    with contextlib.suppress(SmoothdpError, OSError):
        parties.issuer.work(parties.url)
    for _ in range(2):
        parties.round()
    after = parties.what_can_be_destroyed()
    parties.running.close()
    store.close()
    assert after == before


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


@ONLY_SQLITE
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


@ONLY_SQLITE
def test_no_time_that_is_none_is_heard_and_none_of_the_issuer(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """Section 8: "I's clock is not heard by A"; section 9: `{"time": seconds}` or 400."""
    written = party_directories(tmp_path / "t")
    party = AnalyzerParty.from_directory(written.analyzer)
    tokens = [
        json.loads((directory / "secrets.json").read_text())["analyzer_token"]
        for directory in (written.shuffler, written.issuer)
    ]
    with on_loopback(party.app(work_seconds=1000)) as url, httpx.Client(base_url=url) as http:

        def told(body: bytes, token: str) -> int:
            headers = {"authorization": f"Bearer {token}"}
            return http.post("/v2/clock", content=body, headers=headers).status_code

        now = json.dumps({"time": party.analyzer.clocks.now()}).encode()
        assert told(now, tokens[1]) == 503
        assert party.analyzer.clocks.hold() is Hold.NO_PEER
        assert told(now, tokens[0]) == 200
        for value in (b"NaN", b"1e999", b"-1", b'"5"', b"true", b"null", b"[1]", b"9" * 40):
            assert told(b'{"time":%s}' % value, tokens[0]) == 400
        assert [told(body, tokens[0]) for body in (b"", b"null", b"{ }", b"[" * 60)] == [400] * 4
        # The issuer's word, of another day, is not heard: nothing is held for it.
        assert told(b'{"time":0}', tokens[1]) == 200
        assert party.analyzer.clocks.hold() is None
    party.close()


def test_a_machine_that_stood_still_for_days_closes_nothing_and_holds() -> None:
    """Wall clock and time since boot stood still alike, as in a virtual machine that was paused."""
    seconds = {"wall": 1000.0, "boot": 5.0}
    clocks = ClockGuard(wall=lambda: seconds["wall"], boot=lambda: seconds["boot"])
    clocks.heard(1000.0)
    # Two days later by all others it goes on from where it stood.
    assert clocks.verdict(1001) is Verdict.OPEN
    clocks.heard(1000.0 + 172800)
    assert clocks.verdict(1001) is Verdict.HOLD
    seconds["wall"] += 172800  # NTP sets it right: that it was set is all that it knows.
    assert clocks.verdict(1001) is Verdict.HOLD
    assert clocks.to_tell() is None


@ONLY_SQLITE
def test_windows_of_one_second_without_grace(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """Section 3.1: "L >= 1, 0 <= G <= L". A window ends at its second and not before; its keys are
    gone when it is over, and those of the next one are there.
    """
    world = WholeWorld(tmp_path, weak_task(window_seconds=1, grace_seconds=0), fast=True)
    world.go_to(WINDOW + 0.25)
    for window in (WINDOW, WINDOW + 1):
        world.open_window(window)
    assert [world.take_part(person) for person in "abc"] == [202] * 3
    assert world.take_part("late", lose=("reports request",)) == LOST
    world.go_to(WINDOW + 0.999_999)
    assert seal_due(world.shuffler) == []
    assert close_windows(world.issuer) == []
    world.go_to(WINDOW + 1.0)
    with suppress(SmoothdpError):
        world.take_part("late")
    assert world.last_status == 410
    result = world.end()
    assert (result["state"], result["users"], result["accounts_served"]) == ("RELEASED", 3, 4)
    assert world.shuffler.cards.kept() == [WINDOW + 1]
    assert world.analyzer.cards.inner_key(WINDOW) is None
    assert [world.take_part(person, window=WINDOW + 1) for person in "abc"] == [202] * 3
    world.go_to(WINDOW + 2.0)
    assert world.end(WINDOW + 1)["users"] == 3
    assert world.charged() == [WINDOW, WINDOW + 1]
    world.close()
