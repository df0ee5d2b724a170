"""Three parties and many people for minutes or hours, with faults: then everything is compared.

Parties are processes of their own that are killed and started again; answers are lost on the
way; databases are locked by somebody else. At the end every person looks for the own report in
the marks, and results, marks, ledger and acknowledgements must tell one story.
"""

from __future__ import annotations

import heapq
import itertools
import os
import random
import sqlite3
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from pathlib import Path

import httpx

from smoothdp import Ledger
from smoothdp.errors import SmoothdpError
from smoothdp.services.client.client import Client
from smoothdp.services.client.inclusion import Standing, look_up
from smoothdp.services.client.outcomes import FINAL, OutcomeStore
from smoothdp.services.client.submit import submit
from smoothdp.services.demo.demonstration import wait_for_card, wait_for_result
from smoothdp.services.demo.party_process import PartyProcess, party_process
from smoothdp.services.formats.design.agreeing import agree_on_one_host
from smoothdp.services.formats.task import Task
from smoothdp.services.issuer.issuer_party import issue_invitations
from smoothdp.services.shuffler.shuffler_party import issue_passes
from smoothdp.services.wire.calls import ServiceError, ask, connect
from tests.services.worlds.relay import Relay, relayed

ROLES = ("analyzer", "shuffler", "issuer")
MIN_BATCH = 12
_WINDOWS = 40
"""About so many windows, however long it takes."""
_THREADS = 4
_LOST_SHARE = 0.03
Say = Callable[[str], object]


@dataclass
class Soaked:
    """What was done, and what is wrong with it.

    Attributes:
        acknowledged: reports that the shuffler said it has.
        counted: users of all released windows.
        wrong: what must not be, in words; nothing if all is well.
    """

    seconds: float = 0.0
    windows: int = 0
    acknowledged: int = 0
    counted: int = 0
    kills: dict[str, int] = field(default_factory=lambda: dict.fromkeys(ROLES, 0))
    locks: int = 0
    lost_answers: int = 0
    most_memory: dict[str, float] = field(default_factory=lambda: dict.fromkeys(ROLES, 0.0))
    wrong: list[str] = field(default_factory=list)

    def summary(self) -> str:
        """Return it in a few lines."""
        memory = ", ".join(f"{role} {mb:.0f} MB" for role, mb in self.most_memory.items())
        kills = ", ".join(f"{role} {n}" for role, n in self.kills.items())
        return (
            f"{self.seconds:.0f} s, {self.windows} windows released, {self.acknowledged} reports "
            f"acknowledged, {self.counted} counted\n"
            f"killed: {kills}; databases locked {self.locks} times, {self.lost_answers} answers "
            f"lost\nmost memory: {memory}\n"
            + ("nothing lost, nothing double" if not self.wrong else "\n".join(self.wrong))
        )


class Service:
    """A party behind a relay, which is killed and comes back at another port."""

    def __init__(self, role: str, folder: Path, relay: Relay, analyzer: str) -> None:
        self.role, self.directory, self.relay = role, folder / role, relay
        self._analyzer = analyzer
        self._running = ExitStack()
        self._process: PartyProcess
        self.start()

    def start(self) -> None:
        """Start its process on the files that are there."""
        self._running = ExitStack()
        context = party_process(self.role, self.directory, ahead=0.0, analyzer_url=self._analyzer)
        self._process = self._running.enter_context(context)
        self.relay.target = self._process.address

    def kill(self) -> None:
        """End it at once, as kill -9 does, and start it again."""
        self._process._process.kill()
        self._running.close()
        self.start()

    def close(self) -> None:
        """End it."""
        self._running.close()

    def memory(self) -> float:
        """Return the memory that it uses now, in MB; 0 while it starts."""
        try:
            text = Path(f"/proc/{self._process._process.pid}/statm").read_text()
        except OSError:
            return 0.0
        return int(text.split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


class Faults:
    """What goes wrong meanwhile, in a thread; it ends with the context."""

    def __init__(self, services: dict[str, Service], done: Soaked, source: random.Random) -> None:
        self._services, self._done, self._source = services, done, source
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.error: BaseException | None = None

    def __enter__(self) -> Faults:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end.set()
        self._thread.join(60)

    def _run(self) -> None:
        try:
            while not self._end.wait(self._source.uniform(3, 9)):
                service = self._services[self._source.choice(ROLES)]
                for role, each in self._services.items():
                    most = self._done.most_memory
                    most[role] = max(most[role], each.memory())
                if self._source.random() < 0.6:
                    service.kill()
                    self._done.kills[service.role] += 1
                else:
                    self._lock(service.directory / f"{service.role}.sqlite")
        except BaseException as error:  # it is said at the end
            self.error = error

    def _lock(self, file: Path) -> None:
        with closing(sqlite3.connect(file, timeout=10, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            self._end.wait(self._source.uniform(0.5, 5))
            other.execute("ROLLBACK")
        self._done.locks += 1


class People:
    """Everybody takes part in every window, again and again until it worked or is over."""

    def __init__(
        self, task: Task, folder: Path, addresses: dict[str, str], people: int, seed: int
    ) -> None:
        self.task, self._addresses = task, addresses
        self.outcomes = OutcomeStore(folder / "people.sqlite")
        self.passes = issue_passes(folder / "shuffler", people)
        self.invitations = issue_invitations(folder / "issuer", people)
        self._source = random.Random(seed)

    def client(self, person: int) -> Client:
        """Return a client that was just started."""
        return Client(self.task, self.outcomes, name=str(person))

    def take_part(self, window: int, pool: ThreadPoolExecutor) -> None:
        """Let everybody send in a window; return when the window and its grace are over."""
        begin = window * self.task.window_seconds
        due = [
            (begin + self._source.uniform(0.02, 0.6) * self.task.window_seconds, person)
            for person in range(len(self.passes))
        ]
        heapq.heapify(due)
        lock = threading.Lock()
        list(pool.map(lambda _: self._work(window, due, lock), range(_THREADS)))

    def _work(self, window: int, due: list[tuple[float, int]], lock: threading.Lock) -> None:
        task = self.task
        tokens_end = (window + 1) * task.window_seconds
        end = tokens_end + task.grace_seconds
        with (
            connect(self._addresses["shuffler"]) as http,
            connect(self._addresses["issuer"]) as issuer,
        ):
            while True:
                with lock:
                    at, person = heapq.heappop(due) if due else (end, -1)
                if person < 0:
                    return
                time.sleep(max(0.0, at - time.time()))
                if not self._send(window, person, http, issuer):
                    kept = self.client(person).kept(window)
                    final = kept is not None and kept.state == FINAL
                    if time.time() + 1 < (end if final else tokens_end):
                        with lock:
                            heapq.heappush(due, (time.time() + 1, person))

    def _send(self, window: int, person: int, http: httpx.Client, issuer: httpx.Client) -> bool:
        try:
            submit(
                self.client(person),
                person % 2,
                shuffler=http,
                pass_secret=self.passes[person],
                issuer=issuer,
                invitation=self.invitations[person],
                window=window,
                attempts=1,
            )
        except (SmoothdpError, OSError):
            return False
        return True


def soak(
    folder: Path, *, minutes: float, say: Say = lambda _: None, people: int = 60, seed: int = 1
) -> Soaked:
    """Run for so long; return what was done and what is wrong."""
    done, began = Soaked(), time.monotonic()
    source = random.Random(seed)
    seconds = max(12, round(60 * minutes / _WINDOWS))
    rounds = max(2, round(60 * minutes / seconds))
    lost = itertools.count()
    lose = threading.Event()

    def loses() -> bool:
        if not lose.is_set() or source.random() >= _LOST_SHARE:
            return False
        done.lost_answers = next(lost) + 1
        return True

    with ExitStack() as stack:
        relays = {
            role: stack.enter_context(relayed("http://127.0.0.1:1", loses=loses)) for role in ROLES
        }
        task = agree_on_one_host(
            folder,
            "boolean_sum",
            epsilon="4",
            delta="0.01",
            min_batch=MIN_BATCH,
            window_seconds=seconds,
            grace_seconds=seconds // 2,
            windows=rounds + 10,
            issuer_url="https://issuer.example",
            origin="analyzer.example",
        )
        services = {}
        for role in ROLES:
            analyzer = "" if role == "analyzer" else relays["analyzer"].address
            services[role] = Service(role, folder, relays[role], analyzer)
            stack.callback(services[role].close)
        addresses = {role: relay.address for role, relay in relays.items()}
        crowd = People(task, folder, addresses, people, seed)
        stack.callback(crowd.outcomes.close)
        first = task.window_at(time.time()) + 1
        wait_for_card(addresses["issuer"], task, first)
        windows = range(max(first, task.window_at(time.time()) + 1), first + rounds)
        lose.set()
        with (
            Faults(services, done, source) as faults,
            ThreadPoolExecutor(_THREADS * len(windows)) as pool,
        ):
            for window in windows:
                time.sleep(max(0.0, window * seconds - time.time()))
                pool.submit(crowd.take_part, window, ThreadPoolExecutor(_THREADS))
                say(f"window {window - windows[0] + 1} of {len(windows)} has begun")
            end = windows.stop * seconds + task.grace_seconds
            time.sleep(max(0.0, end - time.time()))
        lose.clear()
        if faults.error is not None:
            done.wrong.append(f"the faults ended early: {faults.error!r}")
        for window in windows:
            compare(crowd, window, addresses, folder / "collector", done)
        done.windows = len(windows)
    charged = charges(folder / "analyzer")
    released = sorted(windows)
    if charged != released and not done.wrong:
        done.wrong.append(f"charged for {charged}, released {released}")
    done.seconds = time.monotonic() - began
    return done


def compare(
    crowd: People, window: int, addresses: dict[str, str], collector: Path, done: Soaked
) -> None:
    """Compare what was acknowledged, handed over, counted and released of a window."""
    task = crowd.task
    try:
        signed = wait_for_result(addresses["analyzer"], collector, window)
    except ServiceError as error:
        done.wrong.append(f"window {window}: {error}")
        return
    with connect(addresses["shuffler"]) as http:
        marks = ask(http, "GET", f"/v2/tasks/{task.task_id.hex()}/marks/{window}").body
    found = 0
    for person in range(len(crowd.passes)):
        kept = crowd.client(person).kept(window)
        standing = look_up(task, window, kept, result=signed.encode(), marks=marks)
        found += standing is Standing.INCLUDED
        if kept is not None and kept.acknowledged:
            done.acknowledged += 1
            if standing is not Standing.INCLUDED:
                done.wrong.append(f"window {window}: acknowledged, but {standing.name}")
    users = signed.document["users"]
    done.counted += users
    if found != users:
        done.wrong.append(f"window {window}: {users} users counted, {found} reports found")


def charges(directory: Path) -> list[int]:
    """Return the windows that the analyser's ledger was charged for, once for each charge."""
    (path,) = directory.glob("ledger-*.db")
    return sorted(int(entry.parameters["window"]) for entry in Ledger(path).entries())
