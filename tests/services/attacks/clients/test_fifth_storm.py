"""Programs of one person that run at once, on clocks that jump, beside those of another task."""

from __future__ import annotations

import random
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from smoothdp.errors import SmoothdpError
from smoothdp.services.client.client import Client
from smoothdp.services.client.outcomes import OutcomeStore
from smoothdp.services.client.submit import submit
from smoothdp.services.formats.card import SignedCard
from smoothdp.services.formats.report import open_report
from smoothdp.services.wire.calls import connect
from tests.services.worlds.issuing_world import HOUR, WINDOW, IssuingWorld
from tests.services.worlds.small_tasks import small_task

WINDOWS, PAID = range(WINDOW, WINDOW + 10), 3


class Destroying:
    """A shuffler that follows the protocol, drops answers, and has too few people now and then."""

    def __init__(self, world: IssuingWorld, few: set[int]) -> None:
        self.world, self.few = world, few
        self.cards = {window: world.open_window(window) for window in WINDOWS}
        self.sent: dict[int, set[tuple[bytes, ...]]] = defaultdict(set)
        self.stored: set[int] = set()
        self._choice, self._lock = random.Random(2), threading.Lock()

    def is_over(self, window: int) -> bool:
        return self.world.now >= (window + 1) * HOUR + self.world.task.grace_seconds

    def taken(self, window: int, sealed: bytes) -> int:
        card = SignedCard.decode(self.cards[window]).card
        report = open_report(sealed, card, self.world.gateway)
        with self._lock:
            self.sent[window].add(report.slots)
            if self.is_over(window):
                return 410
            self.stored.add(window)
            return self._choice.choice((202, 202, 503, 0))

    @contextmanager
    def serve(self) -> Iterator[str]:
        shuffler = self

        class Handler(BaseHTTPRequestHandler):
            def do_HEAD(self) -> None:
                window = int(self.path.split("/")[-1])
                self.answer(410 if window in shuffler.few and shuffler.is_over(window) else 404)

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                status = shuffler.taken(int(self.path.split("/")[-1]), body)
                if status:
                    self.answer(status)

            def answer(self, status: int) -> None:
                self.send_response(status)
                self.send_header("content-length", "0")
                self.end_headers()

            def log_message(self, *_: object) -> None:
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        serving = threading.Thread(target=lambda: server.serve_forever(0.02), daemon=True)
        serving.start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        server.server_close()
        serving.join()


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2])
def test_programs_at_once_on_clocks_that_jump_send_one_report_in_no_more_windows_than_are_paid(
    seed: int, tmp_path: Path
) -> None:
    """And nothing of a window that is over is left, whichever task was the last to run."""
    world = IssuingWorld(tmp_path, windows=PAID)
    another = small_task(windows=7, window_seconds=600, grace_seconds=60)
    few = {WINDOW + by for by in ((0, 1, 4, 6), (1, 2, 3, 7))[seed - 1]}
    shuffler, invitation, ended = Destroying(world, few), world.invitation(), threading.Event()
    other_errors: Counter[str] = Counter()

    def now(ahead: int) -> float:
        return world.now + ahead

    def run(number: int, address: str) -> None:
        choice = random.Random(100 * seed + number)
        while not ended.is_set():
            store = OutcomeStore(tmp_path / "windows.sqlite")
            ahead = choice.choice((0, 0, 0, 0, 200, -200, 4000, -4000))
            mine = choice.random() < 0.8
            task, clock = world.task if mine else another, partial(now, ahead)
            client = Client(task, store, clock=clock)
            with suppress(SmoothdpError), connect(address) as http, connect(issuer) as tokens:
                try:
                    if not mine or choice.random() < 0.6:
                        client.settle()
                    if mine:
                        window = client.window_now() - (choice.random() < 0.3)
                        submit(
                            *(client, choice.randint(0, 1)),
                            shuffler=http,
                            pass_secret="p" * 96,
                            issuer=tokens,
                            invitation=invitation,
                            window=window,
                            attempts=2,
                            pause=lambda _: None,
                        )
                except SmoothdpError:
                    raise
                except Exception as error:
                    other_errors[repr(error)] += 1
            store.close()

    issuer = world.address
    with shuffler.serve() as address:
        programs = [threading.Thread(target=run, args=(n, address)) for n in range(3)]
        for program in programs:
            program.start()
        steps = random.Random(seed)
        while world.now < WINDOWS.stop * HOUR:
            time.sleep(0.15)
            world.go_to(world.now + steps.choice((5, 60, 600, 1200)))
        ended.set()
        for program in programs:
            program.join()
    assert not other_errors
    assert all(len(sets) == 1 for sets in shuffler.sent.values())
    assert shuffler.stored
    assert len(shuffler.stored - few) <= PAID
    store = OutcomeStore(tmp_path / "windows.sqlite")
    Client(another, store, clock=lambda: world.now + 10 * HOUR).settle()
    left = "slots IS NOT NULL OR seed IS NOT NULL OR report IS NOT NULL"
    assert store._storage.read(f"SELECT count(*) FROM outcome WHERE {left}") == [(0,)]
    store.close()
    world.close()
