"""The parties of a demonstration in threads of the test: three programs take long to start."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from smoothdp.services.demo.party_process import MovedClocks, party_app
from smoothdp.services.wire.running import on_loopback

STARTED = "smoothdp.services.demo.demonstration.party_process"
"""What `party_thread` stands in for."""


@dataclass(frozen=True)
class PartyThread:
    """A party that serves in a thread."""

    address: str
    clocks: MovedClocks

    def move(self, ahead: float) -> None:
        """Let its clocks run so many seconds ahead."""
        self.clocks.ahead = ahead


@contextmanager
def party_thread(
    role: str, directory: Path, *, ahead: float, analyzer_url: str = ""
) -> Iterator[PartyThread]:
    """Start a party in a thread; end it afterwards."""
    clocks = MovedClocks(ahead)
    with on_loopback(party_app(role, directory, clocks, analyzer_url)) as address:
        yield PartyThread(address, clocks)
