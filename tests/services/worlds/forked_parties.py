"""All parties in processes of their own that serve over HTTP, and die together at a point."""

from __future__ import annotations

import mmap
import os
import signal
import struct
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

from smoothdp.services.analyzer.analyzer_party import AnalyzerParty
from smoothdp.services.client.client import Client
from smoothdp.services.client.outcomes import OutcomeStore
from smoothdp.services.client.submit import submit
from smoothdp.services.faults import Reach
from smoothdp.services.formats.task import Task
from smoothdp.services.issuer.issuer_party import IssuerParty
from smoothdp.services.operations.clock_guard import ClockGuard, seconds_since_boot
from smoothdp.services.shuffler.shuffler_party import ShufflerParty
from smoothdp.services.wire.calls import ask, connect
from smoothdp.services.wire.running import on_loopback

_PAUSE = 0.05


class ForkedParties:
    """Analyser, issuer, shuffler and the people of one task, each in a process of one group.

    Args:
        folder: with the directories of the parties.
        ahead: by how many seconds the clocks of all run ahead; `move` changes it for all.
        people: (pass, invitation) of each person.
        point: a named point at which all processes die, and ``hit`` the how many-th time.
    """

    def __init__(
        self,
        folder: Path,
        task: Task,
        *,
        ahead: float,
        people: list[tuple[str, str]],
        window: int,
        point: str | None = None,
        hit: int = 1,
    ) -> None:
        self.folder, self.task, self.window = folder, task, window
        self._people, self._point, self._hit = people, point, hit
        self._shared = mmap.mmap(-1, 8)
        self.move(ahead)
        self._children: list[int] = []
        self._group = 0
        self.analyzer = self._start(self._analyzer)
        self.shuffler = self._start(self._shuffler)
        self.issuer = self._start(self._issuer)
        self.clients = self._fork(self._take_part)

    def move(self, ahead: float) -> None:
        """Let the clocks of all run so many seconds ahead, as if the time had passed."""
        self._shared[:] = struct.pack("d", ahead)

    def wait(self, until: Callable[[], bool], seconds: float = 60.0) -> bool:
        """Return whether all live when something is true; False as soon as they were killed."""
        limit = time.monotonic() + seconds
        while time.monotonic() < limit:
            for child in list(self._children):
                done, status = os.waitpid(child, os.WNOHANG)
                if done:
                    self._children.remove(child)
                    if os.WIFSIGNALED(status):
                        assert os.WTERMSIG(status) == signal.SIGKILL
                        self.kill()
                        return False
                    assert os.WEXITSTATUS(status) == 0, "a party failed"
            if until():
                return True
            time.sleep(_PAUSE)
        self.kill()
        raise AssertionError("nothing came of it in time")

    def kill(self) -> None:
        """Kill all processes that are left."""
        for child in self._children:
            os.kill(child, signal.SIGKILL)
        for child in self._children:
            os.waitpid(child, 0)
        self._children = []

    def have_sent(self) -> bool:
        """Whether the process of the people has ended: all have the shuffler's word."""
        return self.clients not in self._children

    # ---- in the children ---------------------------------------------------------------------

    def _ahead(self) -> float:
        return float(struct.unpack("d", self._shared[:])[0])

    def _clocks(self) -> ClockGuard:
        return ClockGuard(
            wall=lambda: time.time() + self._ahead(),
            boot=lambda: seconds_since_boot() + self._ahead(),
        )

    def _reach(self) -> Reach:
        left = [self._hit]

        def reach(name: str) -> None:
            if name == self._point:
                left[0] -= 1
                if left[0] == 0:
                    os.killpg(0, signal.SIGKILL)

        return reach

    def _fork(self, call: Callable[[], None]) -> int:
        child = os.fork()
        if child == 0:
            code = 1
            try:
                os.setpgid(0, self._group)
                call()
                code = 0
            finally:
                os._exit(code)
        self._group = self._group or child
        # Whoever comes first: a group that is not there yet cannot be joined.
        os.setpgid(child, self._group)
        self._children.append(child)
        return child

    def _start(self, serve: Callable[[], None]) -> str:
        """Start a party; return its address."""
        self._reading, self._writing = os.pipe()
        self._fork(serve)
        os.close(self._writing)
        with os.fdopen(self._reading) as told:
            return told.readline().strip()

    def _told(self, address: str) -> None:
        os.write(self._writing, f"{address}\n".encode())
        os.close(self._writing)
        while os.getppid() != 1:
            time.sleep(0.2)

    def _analyzer(self) -> None:
        party = AnalyzerParty.from_directory(
            self.folder / "analyzer", clocks=self._clocks(), reach=self._reach()
        )
        with on_loopback(party.app(work_seconds=_PAUSE)) as address:
            self._told(address)

    def _shuffler(self) -> None:
        party = ShufflerParty.from_directory(
            self.folder / "shuffler", clocks=self._clocks(), reach=self._reach()
        )
        with on_loopback(party.app(self.analyzer, work_seconds=_PAUSE)) as address:
            self._told(address)

    def _issuer(self) -> None:
        party = IssuerParty.from_directory(
            self.folder / "issuer", clocks=self._clocks(), reach=self._reach()
        )
        with on_loopback(party.app(self.analyzer, work_seconds=_PAUSE)) as address:
            self._told(address)

    def _take_part(self) -> None:
        reach, store = self._reach(), OutcomeStore(self.folder / "clients.sqlite")
        with ExitStack() as stack:
            to_issuer = stack.enter_context(connect(self.issuer))
            to_shuffler = stack.enter_context(connect(self.shuffler))
            path = f"/v2/tasks/{self.task.task_id.hex()}/cards/{self.window}"
            while ask(to_issuer, "GET", path).status != 200:
                if all(self._client(store, place).kept(self.window) for place in range(1)):
                    break  # The window is over, and the card gone.
                time.sleep(_PAUSE)
            for place, (pass_secret, invitation) in enumerate(self._people):
                submit(
                    self._client(store, place, reach),
                    place % 2,
                    shuffler=to_shuffler,
                    pass_secret=pass_secret,
                    issuer=to_issuer,
                    invitation=invitation,
                    window=self.window,
                    pause=lambda _: time.sleep(_PAUSE),
                    attempts=100,
                )
        store.close()

    def _client(self, store: OutcomeStore, place: int, reach: Reach = lambda _: None) -> Client:
        return Client(
            self.task,
            store,
            name=str(place),
            clock=lambda: time.time() + self._ahead(),
            reach=reach,
        )
