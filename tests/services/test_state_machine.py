"""Test 52: any order of sending, losing, repeating, restarting, rotating, sealing, counting."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import settings, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from smoothdp.services.analyzer.window_release import release_counted
from smoothdp.services.shuffler.delivery import deliver_batches
from smoothdp.services.shuffler.shuffler import Upload
from smoothdp.services.wire.calls import Outcome
from tests.services.world import WINDOW, World, small_task

TASK = small_task(windows=1_000_000, min_batch=3, epsilon="8", delta="1e-6")


class Services(RuleBasedStateMachine):
    """The services beside a model of dictionaries: what was accepted, sealed, destroyed."""

    def __init__(self) -> None:
        super().__init__()
        self.directory = Path(tempfile.mkdtemp())
        self.world = World(self.directory, TASK)
        self.sent: dict[int, set[str]] = {}
        self.closed: dict[int, int] = {}
        self.uploads: list[tuple[int, Upload]] = []

    def teardown(self) -> None:
        self.world.close()
        shutil.rmtree(self.directory)

    @property
    def window(self) -> int:
        return self.world.shuffler.window_now(TASK)

    @rule(user=st.integers(0, 9), answer_lost=st.booleans())
    def send(self, user: int, answer_lost: bool) -> None:
        upload = self.world.upload(f"u{user}")
        self.uploads.append((self.window, upload))
        outcome = self.world.shuffler.accept([upload])
        is_known = f"u{user}" in self.sent.get(self.window, set())
        if self.window in self.closed and not is_known:
            assert outcome == [Outcome.CLOSED]
            return
        if self.window not in self.closed:
            assert outcome == [Outcome.ACCEPTED]
            self.sent.setdefault(self.window, set()).add(f"u{user}")
        if answer_lost:
            self.world.shuffler.accept([upload])

    @rule(place=st.integers(0, 1000), times=st.integers(1, 3))
    def replay(self, place: int, times: int) -> None:
        if self.uploads:
            window, upload = self.uploads[place % len(self.uploads)]
            before = self.world.shuffler.totals()["accepted"]
            outcomes = self.world.shuffler.accept([upload] * times)
            grown = self.world.shuffler.totals()["accepted"] - before
            # An upload that was refused early may be taken now, once; else nothing grows.
            assert grown == 0, (window, outcomes)

    @rule(hours=st.integers(1, 2))
    def wait(self, hours: int) -> None:
        self.world.now += 3600 * hours

    @rule(back=st.integers(0, 2))
    def seal(self, back: int) -> None:
        window = max(WINDOW, self.window - back)
        sealed = self.world.seal(window)
        assert (sealed is None) == (window in self.closed)
        if sealed is not None:
            assert sealed.users == len(self.sent.get(window, set()))
            assert (sealed.state == "SEALED") == (sealed.users >= TASK.min_batch)
            self.closed[window] = sealed.users

    @rule(lose=st.lists(st.sampled_from(["request", "answer", ""]), max_size=5))
    def deliver(self, lose: list[str]) -> None:
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

        try:
            deliver_batches(self.world.shuffler, put)
        except OSError:
            return

    @rule()
    def count(self) -> None:
        self.world.analyzer.count_complete()

    @rule()
    def release(self) -> None:
        release_counted(self.world.analyzer)

    @rule()
    def restart(self) -> None:
        self.world.restart()

    @rule()
    def rotate(self) -> None:
        self.world.shuffler.keys.rotate()

    @invariant()
    def nothing_is_lost(self) -> None:
        totals = self.world.shuffler.totals()
        least = TASK.min_batch
        assert totals == {
            "accepted": sum(map(len, self.sent.values())),
            "pending": sum(len(s) for w, s in self.sent.items() if w not in self.closed),
            "batched": sum(n for n in self.closed.values() if n >= least),
            "expired": sum(n for n in self.closed.values() if n < least),
        }

    @invariant()
    def nothing_is_counted_twice(self) -> None:
        rows = self.world.analyzer.storage.read(
            "SELECT b.window, b.state, (SELECT coalesce(sum(n), 0) FROM tally t "
            "WHERE t.batch_id = b.batch_id AND t.value >= 0) FROM batch b"
        )
        for window, state, n in rows:
            if state in ("COUNTED", "RELEASED"):
                assert n == self.closed[window]
            else:
                assert n == 0

    @invariant()
    def a_release_is_charged(self) -> None:
        read = self.world.analyzer.storage.read
        released = [row[0] for row in read("SELECT window FROM release ORDER BY window")]
        assert released == self.world.charged()


def test_52_any_order_of_events() -> None:
    run_state_machine_as_test(Services, settings=settings(max_examples=25, stateful_step_count=25))


@pytest.mark.slow
def test_52_any_order_of_events_500_runs() -> None:
    runs = int(os.environ.get("SMOOTHDP_STATE_MACHINE_RUNS", "500"))
    run_state_machine_as_test(
        Services, settings=settings(max_examples=runs, stateful_step_count=40, deadline=None)
    )
