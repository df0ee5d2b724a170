"""One party of a demonstration as a process of its own, whose clock the demonstration moves.

It serves on a free loopback port and prints its address. Each line on its standard input is a
number of seconds by which its clocks run ahead from then on; the end of the input ends it. Its
clocks are moved together, as if the time had passed: a wall clock moved alone is what the
clock guard holds for.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from starlette.applications import Starlette

from smoothdp.services.analyzer.analyzer_party import AnalyzerParty
from smoothdp.services.issuer.issuer_party import IssuerParty
from smoothdp.services.operations.clock_guard import ClockGuard, seconds_since_boot
from smoothdp.services.shuffler.shuffler_party import ShufflerParty
from smoothdp.services.wire.calls import ServiceError
from smoothdp.services.wire.running import on_loopback

_WORK_SECONDS = 0.2


class MovedClocks:
    """The clocks of this machine, moved ahead.

    >>> clocks = MovedClocks(3600)
    >>> clocks.wall() - time.time() > 3599
    True
    """

    def __init__(self, ahead: float) -> None:
        self.ahead = ahead

    def wall(self) -> float:
        """Return seconds since 1970."""
        return time.time() + self.ahead

    def boot(self) -> float:
        """Return seconds since the machine started."""
        return seconds_since_boot() + self.ahead


class PartyProcess:
    """A party that serves in a process of its own.

    Args:
        address: where it listens on this machine.
    """

    def __init__(self, process: subprocess.Popen[str], address: str) -> None:
        self._process, self.address = process, address

    def move(self, ahead: float) -> None:
        """Let its clocks run so many seconds ahead."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{ahead!r}\n")
        self._process.stdin.flush()


@contextmanager
def party_process(
    role: str, directory: Path, *, ahead: float, analyzer_url: str = ""
) -> Iterator[PartyProcess]:
    """Start a party in a process of its own; end it afterwards.

    Raises:
        ServiceError: it did not start.
    """
    program = f"import sys; from {__name__} import main; main(sys.argv[1:])"
    command = [sys.executable, "-c", program, role, str(directory), analyzer_url, repr(ahead)]
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8"
    )
    try:
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        if not address:
            raise ServiceError(
                expected=f"the {role} to start",
                got="its process ended",
                remedy="See what it said above",
            )
        yield PartyProcess(process, address)
    finally:
        assert process.stdin is not None
        process.stdin.close()
        try:
            process.wait(timeout=30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        assert process.stdout is not None
        process.stdout.close()


def party_app(role: str, directory: Path, clocks: MovedClocks, analyzer_url: str) -> Starlette:
    """Return the application of a party with these clocks."""
    guard = ClockGuard(wall=clocks.wall, boot=clocks.boot)
    if role == "analyzer":
        party = AnalyzerParty.from_directory(directory, clocks=guard)
        return party.app(work_seconds=_WORK_SECONDS)
    if role == "issuer":
        issuer = IssuerParty.from_directory(directory, clocks=guard)
        return issuer.app(analyzer_url, work_seconds=_WORK_SECONDS)
    shuffler = ShufflerParty.from_directory(directory, clocks=guard)
    return shuffler.app(analyzer_url, work_seconds=_WORK_SECONDS)


def main(arguments: Sequence[str]) -> None:
    """Serve one party until the standard input ends."""
    role, directory, analyzer_url, ahead = arguments
    clocks = MovedClocks(float(ahead))
    with on_loopback(party_app(role, Path(directory), clocks, analyzer_url)) as address:
        print(address, flush=True)
        for line in sys.stdin:
            clocks.ahead = float(line)
