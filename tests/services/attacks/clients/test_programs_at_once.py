"""Programs and calls of one person at once, on one state."""

from __future__ import annotations

import random
import subprocess
import sys
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from smoothdp.errors import SmoothdpError
from smoothdp.services.client.client import Client
from smoothdp.services.client.outcomes import SENT, OutcomeStore
from smoothdp.services.client.submit import submit
from smoothdp.services.formats.card import SignedCard
from smoothdp.services.formats.report import open_report
from smoothdp.services.store.overwritten_log import log_of
from smoothdp.services.wire.calls import connect
from tests.services.worlds.issuing_world import HOUR, WINDOW, IssuingWorld, Recorder, send
from tests.services.worlds.small_tasks import small_task


@pytest.mark.parametrize("step", ["token_request", "finish", "sealed_report"])
def test_a_program_that_is_overtaken_by_another_one_of_the_same_person(
    step: str, world: IssuingWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was told to take part in the next window, although the report had been accepted."""
    shuffler, mine = Recorder(world), world.invitation()
    first, second = world.client(), world.client()
    second.take_part(1, card=world.make_card(), window=WINDOW)
    go_on: Callable[..., object] = getattr(second, step)

    def overtaken(*given: object) -> object:
        send(world, first, shuffler, invitation=mine)
        return go_on(*given)

    monkeypatch.setattr(second, step, overtaken)
    assert send(world, second, shuffler, invitation=mine) == WINDOW
    assert len({report.encode() for report in shuffler.reports()}) == 1
    row = world.client().kept(WINDOW)
    assert row is not None
    assert row.state == SENT


_ANOTHER = """
import sys
from pathlib import Path
from smoothdp.services import read_task
from smoothdp.services.client.client import Client
from smoothdp.services.client.outcomes import OutcomeStore
folder, now = Path(sys.argv[1]), float(sys.argv[2])
for person in map(str.strip, sys.stdin):
    store = OutcomeStore.of_user()
    client = Client(read_task(folder), store, name=person, clock=lambda: now)
    window, report = client.window_now(), ""
    if person:
        card = (folder / "card").read_bytes()
        report = client.take_part(1, card=card, window=window).report.hex()
    store.close()
    print(report, flush=True)
"""


@pytest.mark.slow
def test_two_calls_at_once_in_one_program_lose_no_draw_of_another_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """ "Slots are stored before the first byte leaves and never drawn again".

    A program that opened the state a second time, as a second call of `take_part` in another thread
    does, gave back the locks of the first: closing a file gives back all that its process has on
    it. Another program that ended then removed the log while the first one wrote there, and what
    was stored between was overwritten when the first one closed: a draw that had left. The next
    call made another one.
    """
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    world = IssuingWorld(tmp_path, issuer=None, proof="none")
    (tmp_path / "task.json").write_bytes(world.task.encoded)
    (tmp_path / "card").write_bytes(world.make_card())

    started = [sys.executable, "-c", _ANOTHER, str(tmp_path), str(world.now)]
    with subprocess.Popen(started, stdin=-1, stdout=-1, text=True) as program:

        def another(person: str) -> str:
            assert program.stdin is not None
            assert program.stdout is not None
            program.stdin.write(f"{person}\n")
            program.stdin.flush()
            return program.stdout.readline().strip()

        first = OutcomeStore.of_user()
        client = Client(world.task, first, name="first", clock=lambda: world.now)
        OutcomeStore.of_user().close()
        another("")
        client.take_part(1, card=world.make_card(), window=WINDOW)
        drawn = another("third")
        first.close()
        assert drawn
        assert another("third") == drawn
    world.close()


def test_a_second_call_in_one_program_gives_back_no_lock_of_the_first(tmp_path: Path) -> None:
    """The cause of the above: whoever else comes and goes leaves the log of a state in use."""
    state = tmp_path / "windows.sqlite"
    first = OutcomeStore(state)
    first.keep_card(b"task", 7, digest=b"digest", signed=b"card")
    OutcomeStore(state).close()
    read = "import sqlite3, sys; file = sqlite3.connect(sys.argv[1]); "
    read += "file.execute('SELECT count(*) FROM card').fetchone(); file.close()"
    subprocess.run([sys.executable, "-S", "-c", read, str(state)], check=True)
    assert log_of(state).exists()
    first.close()


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
