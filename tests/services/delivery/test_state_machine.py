"""Test 52: any order of drawing, losing, repeating, copying, restarting, sealing, counting."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections import Counter
from collections.abc import Sequence
from itertools import cycle
from pathlib import Path

import httpx
import pytest
from hypothesis import HealthCheck, Phase, settings, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from smoothdp.services.analyzer.counting import count_complete, tallies
from smoothdp.services.analyzer.release import release_counted, work
from smoothdp.services.formats.card import SignedCard
from smoothdp.services.formats.report import Report, open_report
from smoothdp.services.formats.slots import SLOT_BYTES
from smoothdp.services.issuer.issuer import Issuer
from smoothdp.services.issuer.window_keys import close_windows
from smoothdp.services.shuffler.delivery import deliver_batches
from smoothdp.services.tokens.issuer_key import IssuerKey
from smoothdp.services.wire.calls import Unreachable
from tests.services.worlds.whole_world import HOUR, LOST, WholeWorld, weak_task

TASK = weak_task(windows=50, delta="0.001")
PEOPLE = [f"u{number}" for number in range(7)]
DEVICES = ("clients", "another")
LOSSES = [f"{what} {which}" for what in ("tokens", "reports") for which in ("request", "answer")]
TAKING = st.tuples(
    st.sampled_from(PEOPLE),
    st.integers(0, 1),
    st.sampled_from((*["clients"] * 4, "another")),
    st.sampled_from([*[""] * 6, *LOSSES]),
)
COLLECTING, SEALED, EXPIRED = "collecting", "sealed", "expired"


STEPS = ("seal", "close_and_tell", "deliver", "count", "release", "round_of_the_analyser")


class Parties(RuleBasedStateMachine):
    """The parties beside a model: which device asked first, which reports the shuffler holds."""

    released = 0

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.world = WholeWorld(self.folder, TASK, fast=True)
        self.asked: dict[tuple[int, str], str] = {}
        self.held: dict[int, dict[str, Report]] = {}
        self.state: dict[int, str] = {}
        self.values: dict[int, Counter[int]] = {}
        self.told: dict[int, bytes] = {}
        self.open_window()

    def teardown(self) -> None:
        Parties.released += len(self.told)
        self.world.close()
        shutil.rmtree(self.folder)

    @property
    def window(self) -> int:
        return int(self.world.now // HOUR)

    def is_over(self, window: int) -> bool:
        return self.world.now >= (window + 1) * HOUR + TASK.grace_seconds

    # ---- people ------------------------------------------------------------------------------

    def open_window(self) -> None:
        if self.window not in self.state:
            self.world.open_window(self.window)
            self.state[self.window], self.held[self.window] = COLLECTING, {}
            self.values[self.window] = Counter()

    @rule(people=st.lists(TAKING, min_size=4, max_size=8))
    def take_part(self, people: list[tuple[str, int, str, str]]) -> None:
        for person, datum, device, lose in people:
            self.one_takes_part(person, datum, device, lose)

    def one_takes_part(self, person: str, datum: int, device: str, lose: str) -> None:
        window = self.window
        kept = self.world.client(person, device).kept(window)
        status = self.world.take_part(person, datum, window=window, device=device, lose=(lose,))
        if window not in self.state:
            assert status == 404
            return
        if kept is None or kept.state == "drawn":
            if lose == "tokens request":
                assert status == LOST
                return
            first = self.asked.setdefault((window, person), device)
            if first != device:
                # The account is used: not a byte of this device's slots reaches the shuffler.
                assert status == (LOST if lose == "tokens answer" else 409)
                return
            if status == 429:
                return
            if lose == "tokens answer":
                assert status == LOST
                return
        if kept is not None and kept.state == "sent":
            assert status == 202
            return
        if lose == "reports request":
            assert status == LOST
            return
        known = self.hold(window, self.world.pass_of(person), person, device)
        assert status == (LOST if lose == "reports answer" else known)

    @rule(person=st.sampled_from(PEOPLE))
    def send_late(self, person: str) -> None:
        """Go on in the window before, in its grace or later, with what is final."""
        window = self.window - 1
        kept = self.world.client(person).kept(window)
        if kept is not None and kept.state == "final":
            known = self.hold(window, self.world.pass_of(person), person, "clients")
            assert self.world.take_part(person, window=window) == known

    def hold(self, window: int, secret: str, person: str, device: str) -> int:
        """Note in the model that a report arrives with a pass; return the status it must have."""
        report, held = self.world.report_of(person, window, device), self.held[window]
        if self.state[window] != COLLECTING or self.is_over(window):
            return 410
        if secret in held:
            return 202 if held[secret].report_id == report.report_id else 409
        if report.report_id in {other.report_id for other in held.values()}:
            return 409
        held[secret] = report
        self.values[window] += self.world.values_of(report, window)
        return 202

    @rule(place=st.integers(0, 1000), times=st.integers(1, 3))
    def replay(self, place: int, times: int) -> None:
        """Bytes that were on the network come again, with their own pass."""
        if self.world.sent:
            window, secret, sealed = self.world.sent[place % len(self.world.sent)]
            for _ in range(times):
                self.world.post(window, secret, sealed)
            self.note(window, secret, sealed)

    @rule(place=st.integers(0, 1000), thief=st.sampled_from(PEOPLE))
    def copy(self, place: int, thief: str) -> None:
        """Bytes that were on the network come again, with another pass."""
        if self.world.sent:
            window, _, sealed = self.world.sent[place % len(self.world.sent)]
            self.world.post(window, self.world.pass_of(thief), sealed)
            self.note(window, self.world.pass_of(thief), sealed)

    def note(self, window: int, secret: str, sealed: bytes) -> None:
        """Note a report whose owner is not asked: it may be the first time that it arrives."""
        opened = self.world.shuffler.cards.opened(window)
        if self.state[window] != COLLECTING or self.is_over(window) or opened is None:
            return
        report, held = open_report(sealed, opened[0].card, opened[1]), self.held[window]
        known = {other.report_id for other in held.values()}
        if secret not in held and report.report_id not in known:
            held[secret] = report
            self.values[window] += self.world.values_of(report, window)

    # ---- parties -----------------------------------------------------------------------------

    @rule(skip=st.sets(st.sampled_from(STEPS), max_size=2))
    def a_window_passes(self, skip: set[str]) -> None:
        """The next window comes, and all parties have a round, some of it left out."""
        self.wait(3)
        for step in STEPS:
            if step not in skip:
                getattr(self, step)()

    @rule(steps=st.lists(st.sampled_from(STEPS), min_size=1, max_size=4))
    def some_steps(self, steps: list[str]) -> None:
        for step in steps:
            getattr(self, step)()

    @rule(half_hours=st.integers(1, 3))
    def wait(self, half_hours: int) -> None:
        self.world.go_to(self.world.now + 1800 * half_hours)
        if half_hours > 1:
            self.open_window()

    def seal(self) -> None:
        due = {w for w, state in self.state.items() if state == COLLECTING and self.is_over(w)}
        sealed = {item.window: item for item in self.world.seal(self.window - 2)}
        assert set(sealed) == due
        for window, item in sealed.items():
            n_users = len(self.held[window])
            enough = n_users >= TASK.min_batch
            self.state[window] = SEALED if enough else EXPIRED
            assert (item.state, item.users, item.shared) == (
                "SEALED" if enough else "EXPIRED",
                n_users,
                0,
            )

    @rule(lose=st.sampled_from(["", "served request", "served answer"]))
    def lose_of_the_issuer(self, lose: str) -> None:
        self.close_and_tell(lose)

    def close_and_tell(self, lose: str = "") -> None:
        close_windows(self.world.issuer)
        with contextlib.suppress(Unreachable, httpx.TransportError):
            self.world.tell(lose=(lose,))

    @rule(lose=st.lists(st.sampled_from(["request", "answer", ""]), max_size=4))
    def lose_of_a_batch(self, lose: list[str]) -> None:
        self.deliver(lose)

    def deliver(self, lose: Sequence[str] = ()) -> None:
        losses = list(lose)

        def put(path: str, body: bytes) -> int:
            loss = losses.pop() if losses else ""
            if loss == "request":
                raise OSError
            status = self.world.put(path, body)
            assert status in (200, 201)
            if loss == "answer":
                raise OSError
            return status

        with contextlib.suppress(OSError):
            deliver_batches(self.world.shuffler, put)

    def count(self) -> None:
        count_complete(self.world.analyzer)

    def release(self) -> None:
        release_counted(self.world.analyzer)

    def round_of_the_analyser(self) -> None:
        work(self.world.analyzer)

    @rule()
    def restart(self) -> None:
        self.world.restart()

    # ---- what always holds -------------------------------------------------------------------

    @invariant()
    def nothing_is_lost(self) -> None:
        by_state = Counter[str]()
        for window, held in self.held.items():
            by_state[self.state[window]] += len(held)
        assert self.world.shuffler.totals() == {
            "pending": by_state[COLLECTING],
            "batched": by_state[SEALED],
            "shared": 0,
            "expired": by_state[EXPIRED],
        }

    @invariant()
    def slots_are_in_one_batch(self) -> None:
        """Of each person there is one set of slots, in one batch, or in none."""
        batches: dict[str, set[bytes]] = {}
        for path, body in self.world.offers:
            if "parts" in path:
                width = self.world.shuffler.record_bytes
                slots = [body[at : at + SLOT_BYTES] for at in range(0, len(body), width)]
                assert len(set(slots)) == len(slots)
                # Offered again: the same bytes in the same order.
                assert batches.setdefault(path, set(slots)) == set(slots)
        seen = [slot for slots in batches.values() for slot in slots]
        assert len(seen) == len(set(seen))
        sealed = [w for w, state in self.state.items() if state == SEALED]
        accepted = {slot for w in sealed for r in self.held[w].values() for slot in r.slots}
        assert set(seen) <= accepted

    @invariant()
    def nothing_is_counted_twice(self) -> None:
        rows = self.world.analyzer.storage.read("SELECT batch_id, window, state FROM batch")
        for batch_id, window, state in rows:
            tally = tallies(self.world.analyzer, bytes(batch_id))
            assert tally == (self.values[window] if state == "COUNTED" else {})
            assert state != "QUARANTINED"

    @invariant()
    def accounts_are_people_who_asked(self) -> None:
        rows = self.world.analyzer.storage.read("SELECT window FROM served")
        for (window,) in rows:
            asked = sum(1 for at, _ in self.asked if at == window)
            assert self.world.analyzer.accounts_served(window) == asked
            assert asked >= len(self.held[window])

    @invariant()
    def a_release_is_charged_and_is_for_ever(self) -> None:
        rows = self.world.analyzer.storage.read("SELECT window, body FROM release ORDER BY window")
        assert [window for window, _ in rows] == self.world.charged()
        for window, body in rows:
            assert self.told.setdefault(window, bytes(body)) == bytes(body)
            assert self.world.result(window)["users"] == len(self.held[window])

    @invariant()
    def cards_are_for_ever(self) -> None:
        for window in self.state:
            card = self.world.issuer.storage.read(
                "SELECT signed FROM card WHERE window = ?", (window,)
            )[0][0]
            assert SignedCard.decode(bytes(card)).card == self.world.card(window)


@pytest.fixture(autouse=True)
def made_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the issuer take keys that were made once: making one takes as long as ten steps."""
    made = cycle([IssuerKey.generate() for _ in range(6)])
    monkeypatch.setattr(IssuerKey, "generate", lambda: next(made))


def run(examples: int, steps: int, *, shrink: bool = True) -> None:
    run_state_machine_as_test(
        Parties,
        settings=settings(
            database=None,
            phases=[Phase.generate, *[Phase.shrink] * shrink],
            report_multiple_bugs=False,
            max_examples=examples,
            stateful_step_count=steps,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )


def test_52_any_order_of_events() -> None:
    Parties.released = 0
    run(20, 30)
    # It comes to releases: ten are usual.
    assert Parties.released


def test_52_the_machine_sees_a_second_draw(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Issuer, "_charge", lambda *_: None)
    with pytest.raises(AssertionError):
        run(25, 30, shrink=False)


@pytest.mark.slow
def test_52_any_order_of_events_500_runs() -> None:
    run(int(os.environ.get("SMOOTHDP_STATE_MACHINE_RUNS", "500")), 40)
