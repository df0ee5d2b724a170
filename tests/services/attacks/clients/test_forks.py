"""Programs that fork: one draw, one count, no coin that two of them share."""

from __future__ import annotations

import gc
import multiprocessing
import os
import secrets
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from smoothdp.claims import PureDP
from smoothdp.errors import BudgetExceeded, InvalidData
from smoothdp.ledger import Ledger
from smoothdp.services import take_part
from smoothdp.services.client.outcomes import OutcomeStore
from smoothdp.services.formats.card import SignedCard
from smoothdp.services.formats.slots import seal_slots
from tests.services.worlds.draws import DRAW
from tests.services.worlds.issuing_world import HOUR, IssuingWorld
from tests.services.worlds.quick_clients import hasten

pytestmark = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")


class SlowShuffler:
    """A shuffler of an open task that gives each of its cards when it is told to."""

    def __init__(self, world: IssuingWorld) -> None:
        self.world = world
        self.bodies: list[bytes] = []
        self.asked = [threading.Event() for _ in range(4)]
        self.answer = [threading.Event() for _ in range(4)]
        turns, shuffler = iter(range(4)), self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                turn = next(turns)
                shuffler.asked[turn].set()
                shuffler.answer[turn].wait(20.0)
                self._say(200, world.make_card(int(self.path.rpartition("/")[2])))

            def do_HEAD(self) -> None:
                self._say(404)

            def do_POST(self) -> None:
                shuffler.bodies.append(self.rfile.read(int(self.headers["content-length"])))
                self._say(202)

            def _say(self, status: int, body: bytes = b"") -> None:
                self.send_response(status)
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=lambda: server.serve_forever(0.02), daemon=True).start()
        world.at_end(server.server_close)
        world.at_end(server.shutdown)
        self.address = f"http://127.0.0.1:{server.server_address[1]}"


@pytest.fixture(autouse=True)
def nothing_of_other_tests() -> None:
    """States that other tests left as garbage are open until it is collected."""
    gc.collect()


@pytest.fixture
def open_world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[IssuingWorld]:
    made = IssuingWorld(tmp_path, issuer=None, proof="none", windows=1)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    hasten(monkeypatch, lambda: made.now)
    yield made
    made.close()


@pytest.mark.parametrize("later", [0, 1], ids=["the same window", "the next one"])
def test_a_fork_beside_a_call_sends_no_two_draws(open_world: IssuingWorld, later: int) -> None:
    """ "Slots are stored before the first byte leaves and never drawn again", "a client answers in
    no more windows than the budget pays for".

    A process that multiprocessing forks, while another thread of the program is in `take_part`,
    inherits what SQLite notes of locks, and not the locks. Its own connection then asked for none.
    The thread's call ended, took itself for the last one and removed the log, into which the child
    wrote its draw: that was sent, and gone. The next call drew again, or answered in one window
    more than was paid.
    """
    shuffler = SlowShuffler(open_world)
    asked = partial(take_part, open_world.task, 1, shuffler=shuffler.address)
    first = threading.Thread(
        target=partial(asked, pass_secret="0a" * 48, person="first"), daemon=True
    )
    first.start()
    assert shuffler.asked[0].wait(10.0)
    second = partial(asked, pass_secret="0b" * 48, person="second")
    child = multiprocessing.get_context("fork").Process(target=second)
    child.start()
    while child.is_alive() and not shuffler.asked[1].wait(0.02):
        pass
    shuffler.answer[0].set()
    first.join()
    for answer in shuffler.answer:
        answer.set()
    child.join()
    open_world.go_to(open_world.now + later * HOUR)
    sent_by_child = len(shuffler.bodies) - 1
    # Without a draw of the child's this is the first; with one it is that one, or refused.
    with (
        pytest.raises(InvalidData, match="pays for 1") if sent_by_child and later else nullcontext()
    ):
        second()
    assert len(shuffler.bodies) == 2


def in_child(call: Callable[[], None]) -> None:
    """Run something in a forked process; raise there refused it in words, here."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            call()
            os.write(writing, b"done")
        except InvalidData as error:
            os.write(writing, str(error).encode())
        finally:
            os._exit(0)
    os.close(writing)
    os.waitpid(child, 0)
    with os.fdopen(reading) as pipe:
        said = pipe.read()
    if said != "done":
        raise InvalidData(expected="a child that goes on", got=said, remedy="See above")


def test_a_child_that_inherits_an_open_state_is_told_and_draws_nothing(tmp_path: Path) -> None:
    """The cause of the above; neither does it change rows by the connection of the one before.

    A child of a program that has nothing open, or no more, may do what others do.
    """
    state = tmp_path / "windows.sqlite"
    store = OutcomeStore(state)

    def drawn(used: OutcomeStore | None, person: str) -> None:
        used = used or OutcomeStore(state)
        used.keep(b"task", 7, person, **DRAW, most=1)

    for used in (None, store):
        with pytest.raises(InvalidData, match="forked while another call had it open"):
            in_child(partial(drawn, used, "early"))
    store.keep(b"task", 7, "me", **DRAW, most=1)
    store.close()
    in_child(partial(drawn, None, "late"))
    store = OutcomeStore(state)
    names = [name for name in ("early", "me", "late") if store.get(b"task", 7, name)]
    store.close()
    assert names == ["me", "late"]


def test_a_refused_state_is_no_reason_to_refuse_a_child(tmp_path: Path) -> None:
    """What could not be opened holds no lock, whoever keeps its error: a notebook, say."""
    (tmp_path / "damaged").write_bytes(b"no database " * 1000)
    with pytest.raises(InvalidData) as refused:
        OutcomeStore(tmp_path / "damaged")
    in_child(lambda: OutcomeStore(tmp_path / "windows.sqlite").close())
    assert refused.value


def test_forked_devices_share_no_coin(tmp_path: Path) -> None:
    """ "Each device's randomised slots": noise and seals of two children of one program differ.

    A generator that keeps what it has read ahead would give both the same.
    """
    world = IssuingWorld(
        tmp_path, issuer=None, proof="none", protocol="split_sum", size=8, bounds=("0", "1")
    )
    card = SignedCard.decode(world.make_card()).card
    seal_slots(world.task.values(1), card)
    found = list[bytes]()
    for _ in range(2):
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            slots = seal_slots(world.task.values(1), card)
            os.write(writing, b"".join(slots) + secrets.token_bytes(32))
            os._exit(0)
        os.close(writing)
        with os.fdopen(reading, "rb") as pipe:
            found.append(pipe.read())
        os.waitpid(child, 0)
    world.close()
    one, other = ({said[at : at + 32] for at in range(0, len(said), 52)} for said in found)
    assert one
    assert not one & other


def test_a_fork_beside_a_ledger_loses_no_charge(tmp_path: Path) -> None:
    """ "The ledger is a file on one machine: all workers that release share it".

    A worker that was forked while the program had the ledger open asked for no lock of its own.
    When the program closed it, the log went, and with it what the worker charged from then on: the
    next one was let to spend it again.
    """
    path = tmp_path / "ledger"
    ledger = Ledger(path, budget=PureDP(1))
    started, told = os.pipe(), os.pipe()
    child = os.fork()
    if child == 0:
        own = Ledger(path)
        own.left()
        os.write(started[1], b"1")
        os.read(told[0], 1)
        own.spend(PureDP("0.9"))
        os._exit(0)
    os.read(started[0], 1)
    del ledger
    gc.collect()
    os.write(told[1], b"1")
    os.waitpid(child, 0)
    for end in (*started, *told):
        os.close(end)
    again = Ledger(path)
    assert again.spent() == PureDP("0.9")
    with pytest.raises(BudgetExceeded):
        again.spend(PureDP("0.9"))


def spend_a_tenth(ledger: Ledger) -> None:
    ledger.spend(PureDP("0.1"))


def test_a_ledger_goes_on_in_all_threads_after_a_fork(tmp_path: Path) -> None:
    """What was closed for the fork is opened again, in the program and in the child."""
    ledger = Ledger(tmp_path / "ledger", budget=PureDP(1))
    with ThreadPoolExecutor(2) as threads:
        for _ in range(3):
            threads.submit(ledger.spend, PureDP("0.1")).result()
            in_child(partial(spend_a_tenth, ledger))
    assert ledger.spent() == PureDP("0.6")
