"""The clock guard: its vectors, the drift rule, and what a peer may say."""

from __future__ import annotations

import time
from dataclasses import dataclass

import pytest

from smoothdp.errors import InvalidData
from smoothdp.services.operations.clock_guard import ClockGuard, Hold, Verdict, guard

# (wall, peer's time advanced since, close, seconds since the peer told it) -> verdict.
VECTORS = [
    (1000, 1000, 1000, 0, "close"),
    (1000, 999, 1000, 0, "open"),
    (999, 1000, 1000, 0, "open"),
    (1060, 1000, 1000, 0, "close"),
    (1061, 1000, 1000, 0, "hold"),
    (173800, 1000, 1000, 0, "hold"),
    (1000, 173800, 1000, 0, "hold"),
    (2000, None, 1000, 0, "hold"),
    (2000, 2000, 1000, 600, "close"),
    (2000, 2000, 1000, 601, "hold"),
    (0, 0, 1, 0, "open"),
]
TWO_DAYS = 172800.0


@dataclass
class Clocks:
    """Clocks that a test sets."""

    wall: float = 1e9
    boot: float = 50.0

    def guard(self) -> ClockGuard:
        return ClockGuard(wall=lambda: self.wall, boot=lambda: self.boot)

    def wait(self, seconds: float) -> None:
        self.wall += seconds
        self.boot += seconds


@pytest.mark.parametrize(("wall", "peer", "close", "age", "expected"), VECTORS)
def test_the_vectors(
    wall: float, peer: float | None, close: float, age: float, expected: str
) -> None:
    assert guard(wall=wall, peer=peer, close=close, age=age).value == expected


@pytest.mark.parametrize(("wall", "peer", "close", "age", "expected"), VECTORS)
def test_the_vectors_of_a_guard_that_heard_the_peer(
    wall: float, peer: float | None, close: float, age: float, expected: str
) -> None:
    clocks = Clocks(wall=wall - age)
    guarded = clocks.guard()
    if peer is not None:
        guarded.heard(peer - age)
    clocks.wait(age)
    assert guarded.verdict(close).value == expected


@pytest.mark.parametrize(
    "clocks", [(float("nan"), 1.0, 0.0), (1.0, float("nan"), 0.0), (1.0, 1.0, float("nan"))]
)
def test_what_is_no_number_holds(clocks: tuple[float, float, float]) -> None:
    wall, peer, age = clocks
    assert guard(wall=wall, peer=peer, close=0, age=age) is Verdict.HOLD


def test_a_time_from_the_future_of_the_boot_clock_holds() -> None:
    assert guard(wall=1.0, peer=1.0, close=0.0, age=-1.0) is Verdict.HOLD


def test_the_time_of_a_peer_runs_on() -> None:
    clocks = Clocks()
    guarded = clocks.guard()
    guarded.heard(clocks.wall)
    clocks.wait(300)
    assert guarded.verdict(clocks.wall) is Verdict.CLOSE
    assert guarded.verdict(clocks.wall + 1) is Verdict.OPEN
    clocks.wait(301)
    assert guarded.hold() is Hold.OLD_PEER
    guarded.heard(clocks.wall)
    assert guarded.hold() is None


@pytest.mark.parametrize("jump", [TWO_DAYS, -TWO_DAYS, 61.0, -61.0])
def test_a_clock_that_is_set_holds_for_good_although_the_peer_agrees(jump: float) -> None:
    clocks = Clocks()
    guarded = clocks.guard()
    guarded.heard(clocks.wall)
    assert guarded.verdict(clocks.wall) is Verdict.CLOSE
    clocks.wall += jump
    guarded.heard(clocks.wall)
    assert guarded.verdict(0.0) is Verdict.HOLD
    # Set back: what happened in between is not known, so an operator must look.
    clocks.wall -= jump
    guarded.heard(clocks.wall)
    assert guarded.hold() is Hold.MOVED
    assert clocks.guard().hold() is Hold.NO_PEER


def test_a_minute_of_drift_is_borne() -> None:
    clocks = Clocks()
    guarded = clocks.guard()
    clocks.wall += 60
    guarded.heard(clocks.wall)
    assert guarded.hold() is None


def test_the_sleep_of_a_machine_is_no_drift_and_makes_the_peer_old() -> None:
    clocks = Clocks()
    guarded = clocks.guard()
    guarded.heard(clocks.wall)
    clocks.wait(TWO_DAYS)
    assert guarded.hold() is Hold.OLD_PEER


@pytest.mark.parametrize(
    "told", [float("nan"), float("inf"), -1.0, 1e300, 10**400, True, "1000", None]
)
def test_a_peer_that_tells_no_time_is_refused_and_changes_nothing(told: object) -> None:
    clocks = Clocks()
    guarded = clocks.guard()
    guarded.heard(clocks.wall)
    with pytest.raises(InvalidData, match="the other party's time"):
        guarded.heard(told)  # type: ignore[arg-type]
    assert guarded.verdict(clocks.wall) is Verdict.CLOSE


def test_a_process_that_is_stopped_between_two_readings_is_no_drift() -> None:
    clocks = Clocks()
    stops = iter([0.0, 0.0, 0.0, 0.0, 500.0] + [0.0] * 99)

    def boot() -> float:
        clocks.wait(next(stops))
        return clocks.boot

    guarded = ClockGuard(wall=lambda: clocks.wall, boot=boot)
    guarded.heard(clocks.wall)
    assert guarded.hold() is None


def test_the_clocks_of_this_machine() -> None:
    guarded = ClockGuard()
    guarded.heard(guarded.now())
    assert guarded.verdict(time.time() - 1) is Verdict.CLOSE
    assert guarded.verdict(time.time() + 5) is Verdict.OPEN
