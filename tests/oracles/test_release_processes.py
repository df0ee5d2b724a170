"""Draws after a fork and under threads: independent, undisturbed, never stuck."""

from __future__ import annotations

import os
import select
import signal
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

import pytest
from flint import ctx

from smoothdp.claims import PureDP
from smoothdp.exact.balls.balls import precision
from smoothdp.exact.random.entropy import Entropy, SeededRandom, SystemRandom
from smoothdp.exact.random.lazy import RoundedDraws
from smoothdp.mechanisms.release.smooth_noise import SmoothNoise
from smoothdp.queries import Median
from tests.oracles.literal_noise import LAWS

PATIENCE = 30
pytestmark = pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")


def draw_all(rng: Entropy, count: int) -> list[int]:
    """Draw from every law, in steps of 2^-100."""
    return [
        RoundedDraws(
            law.lazy(),
            centre=Fraction(1, 3),
            factor=Fraction(2**100),
            decay=Fraction(1, 7),
            lowest=-(1 << 500),
            highest=1 << 500,
        ).draw(rng)
        for _ in range(count)
        for law in LAWS
    ]


def in_child(action: Callable[[], str]) -> str:
    """Return what a forked child computes, or fail if it does not end in time."""
    read_end, write_end = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(write_end, action().encode())
        finally:
            os._exit(0)
    os.close(write_end)
    try:
        ready, _, _ = select.select([read_end], [], [], PATIENCE)
        if not ready:
            os.kill(child, signal.SIGKILL)
            pytest.fail("the child did not answer")
        return os.read(read_end, 1 << 16).decode()
    finally:
        os.waitpid(child, 0)
        os.close(read_end)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
class TestFork:
    def test_children_draw_apart(self) -> None:
        """The generator was used before the fork; parent and children still share nothing."""
        rng = SystemRandom()
        draw_all(rng, 1)
        children = [in_child(lambda: str(draw_all(rng, 1))) for _ in range(3)]
        outputs = [*children, str(draw_all(rng, 1))]
        assert len(set(outputs)) == len(outputs)

    def test_fork_while_other_threads_draw(self) -> None:
        """The child finds the lock free and the precision as it was, however often we try."""
        stop = threading.Event()
        before = ctx.prec

        def busy() -> None:
            rng = SystemRandom()
            while not stop.is_set():
                draw_all(rng, 1)

        threads = [threading.Thread(target=busy) for _ in range(3)]
        for thread in threads:
            thread.start()
        try:
            for _ in range(20):
                expected = str(draw_all(SeededRandom(3), 1))
                answer = in_child(lambda: f"{ctx.prec} {draw_all(SeededRandom(3), 1)}")
                assert answer == f"{before} {expected}"
        finally:
            stop.set()
            for thread in threads:
                thread.join()

    def test_fork_while_the_lock_is_held(self) -> None:
        """The fork waits for the thread inside; without that the child would wait for ever."""
        inside = threading.Event()

        def hold() -> None:
            with precision(77):
                inside.set()
                time.sleep(0.3)

        thread = threading.Thread(target=hold)
        thread.start()
        inside.wait()
        answer = in_child(lambda: f"{ctx.prec} {len(draw_all(SystemRandom(), 1))}")
        thread.join()
        assert answer == f"{ctx.prec} {len(LAWS)}"


def test_threads_do_not_disturb_each_other() -> None:
    seeds = range(24)
    alone = [draw_all(SeededRandom(seed), 3) for seed in seeds]
    before = ctx.prec
    with ThreadPoolExecutor(6) as pool:
        together = list(pool.map(lambda seed: draw_all(SeededRandom(seed), 3), seeds))
    assert together == alone
    assert ctx.prec == before


def test_one_mechanism_serves_many_threads() -> None:
    data = [float(v) for v in range(101)]
    mechanism = SmoothNoise.calibrate(Median((0, 100)), guarantee=PureDP(1), n_records=101)
    seeds = range(60)
    alone = [mechanism.release(data, rng=SeededRandom(seed)).value for seed in seeds]
    with ThreadPoolExecutor(6) as pool:
        together = list(
            pool.map(lambda seed: mechanism.release(data, rng=SeededRandom(seed)).value, seeds)
        )
    assert together == alone
    assert len(set(alone)) == len(alone)
