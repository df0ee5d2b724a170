"""Two services in one process, with a clock that tests set and points at which they stop."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from smoothdp.services.analyzer.analyzer import Analyzer
from smoothdp.services.analyzer.analyzer_tables import ANALYZER_SCHEMA
from smoothdp.services.analyzer.window_release import read_result, release_counted
from smoothdp.services.client.client import Client
from smoothdp.services.client.outcomes import OutcomeStore
from smoothdp.services.faults import Reach, pass_by
from smoothdp.services.shuffler.delivery import deliver_batches
from smoothdp.services.shuffler.sealing import Sealed, seal_window
from smoothdp.services.shuffler.shuffler import Shuffler, Upload
from smoothdp.services.shuffler.shuffler_tables import SHUFFLER_SCHEMA
from smoothdp.services.wire.calls import Outcome
from smoothdp.services.wire.hybrid import PrivateKey, PublicKey
from smoothdp.services.wire.task import Task
from smoothdp.services.wire.task_request import create_task
from smoothdp.services.wire.tokens import issue_client_token
from tests.services.storages import open_state

WINDOW = 1000
HOUR = 3600.0
ISSUING_KEY = b"i" * 32
KEY = PrivateKey.from_bytes(bytes(range(32)))


def small_task(protocol: str = "boolean_sum", *, min_batch: int = 4, **more: Any) -> Task:
    """Return a task that a few users can meet: a weak promise, to keep tests quick."""
    if protocol == "histogram":
        min_batch = max(min_batch, 8)
        more = {"domain": ("a", "b", "c")} | more
        fields: dict[str, Any] = {"epsilon": "3", "delta": "0.1"}
    else:
        fields = {"epsilon": "2", "delta": "0.01"}
    if protocol == "real_sum":
        more = {"bounds": ("0", "1"), "size": 3} | more
        fields = {"epsilon": "4", "delta": "0.1"}
    fields |= {
        "dishonest_share": "0",
        "window_seconds": 3600,
        "grace_seconds": 60,
        "analyzer_key": KEY.public,
        "min_batch": min_batch,
        "windows": 10,
    }
    return create_task(protocol, **(fields | more))


def hash_parts(parts: Sequence[bytes]) -> tuple[bytes, ...]:
    """Return SHA-256 of each part of a batch."""
    return tuple(hashlib.sha256(part).digest() for part in parts)


class World:
    """A shuffler and an analyser with storage in a directory; `restart` opens it anew."""

    def __init__(self, directory: Path, task: Task | None = None) -> None:
        self.directory = directory
        self.task = small_task() if task is None else task
        self.now = WINDOW * HOUR + 5
        self.reach: Reach = pass_by
        self.outcomes = OutcomeStore(directory / "clients.sqlite")
        self.tokens: dict[str, str] = {}
        self.offers: list[tuple[str, bytes]] = []
        self._open()

    def _open(self) -> None:
        def reach(point: str) -> None:
            self.reach(point)

        self.shuffler = Shuffler(
            open_state(self.directory, "shuffler", SHUFFLER_SCHEMA),
            tasks=[self.task],
            issuing_key=ISSUING_KEY,
            clock=lambda: self.now,
            reach=reach,
        )
        self.analyzer = Analyzer(
            open_state(self.directory, "analyzer", ANALYZER_SCHEMA),
            tasks=[self.task],
            key=KEY,
            ledgers=self.directory,
            reach=reach,
        )

    def restart(self) -> None:
        """Close both services and open them on the same files."""
        self.shuffler.storage.close()
        self.analyzer.storage.close()
        self._open()

    def close(self) -> None:
        """Close every file."""
        for storage in (self.shuffler.storage, self.analyzer.storage, self.outcomes):
            storage.close()

    # ---- clients ---------------------------------------------------------------------------

    def token(self, name: str) -> str:
        """Return the token of a user."""
        if name not in self.tokens:
            self.tokens[name] = issue_client_token(ISSUING_KEY, self.task.task_id)
        return self.tokens[name]

    def envelope(self, name: str, datum: Any = 1, *, window: int | None = None) -> bytes:
        """Return the envelope of a user, the same on a retry."""
        key_id, public = self.shuffler.keys.active()
        client = Client(self.task, self.outcomes, name=name, clock=lambda: self.now)
        key = (key_id, PublicKey.from_bytes(public))
        return client.envelope(datum, shuffler_key=key, window=window)

    def upload(self, name: str, datum: Any = 1, *, window: int | None = None) -> Upload:
        """Return a user's upload."""
        return Upload(self.token(name), self.envelope(name, datum, window=window))

    def send(self, *names: str, datum: Any = 1) -> list[Outcome]:
        """Let users send, in one group."""
        return self.shuffler.accept([self.upload(name, datum) for name in names])

    def send_many(self, count: int, data: Sequence[Any] = (1,), prefix: str = "u") -> None:
        """Let so many users send; all must be accepted."""
        uploads = [self.upload(f"{prefix}{i}", data[i % len(data)]) for i in range(count)]
        assert set(self.shuffler.accept(uploads)) == {Outcome.ACCEPTED}

    # ---- services --------------------------------------------------------------------------

    def put(self, path: str, body: bytes) -> int:
        """Hand a request to the analyser, and remember it."""
        self.offers.append((path, body))
        parts = path.split("/")
        batch_id = bytes.fromhex(parts[3])
        if len(parts) == 4:
            return self.analyzer.put_batch(batch_id, body)
        return self.analyzer.put_part(batch_id, int(parts[5]), body)

    def seal(self, window: int = WINDOW) -> Sealed | None:
        """Close a window."""
        return seal_window(self.shuffler, self.task, window)

    def finish(self, window: int = WINDOW) -> tuple[int, bytes]:
        """Seal, deliver, count and release; return the result's status and body."""
        self.seal(window)
        deliver_batches(self.shuffler, self.put)
        self.analyzer.count_complete()
        release_counted(self.analyzer)
        return read_result(self.analyzer, self.task.task_id, window)

    def charged(self) -> list[int]:
        """Return the windows that the ledger was charged for, once for each charge."""
        entries = self.analyzer.ledgers[self.task.task_id]._ledger.entries()
        return sorted(int(entry.parameters["window"]) for entry in entries)

    def tallied(self) -> int:
        """Return how many slots the analyser has counted, over all batches."""
        return int(self.analyzer.storage.read("SELECT coalesce(sum(n), 0) FROM tally")[0][0])

    def slots_of_batch(self, window: int = WINDOW) -> list[bytes]:
        """Return the slots of a sealed batch, in the order that the analyser sees."""
        rows = self.shuffler.storage.read(
            "SELECT p.bytes FROM batch_part p JOIN batch b ON b.batch_id = p.batch_id "
            "WHERE b.window = ? ORDER BY p.part",
            (window,),
        )
        data = b"".join(bytes(row[0]) for row in rows)
        return [data[at : at + 52] for at in range(0, len(data), 52)]

    def is_balanced(self) -> bool:
        """Whether every accepted report is in one batch, expired, or pending."""
        t = self.shuffler.totals()
        return t["accepted"] == t["pending"] + t["batched"] + t["expired"]
