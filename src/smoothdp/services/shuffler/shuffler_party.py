"""The shuffler from its directory, ready to serve, and the tokens that it issues."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from starlette.applications import Starlette
from starlette.routing import Route

from smoothdp.exact.parameters.numbers import exact_int
from smoothdp.services.operations.admin import Operations
from smoothdp.services.operations.health import (
    Rounds,
    delivery_condition,
    disk_condition,
    storage_condition,
)
from smoothdp.services.operations.tls import Trust
from smoothdp.services.shuffler.delivery import deliver_batches, oldest_undelivered, putting
from smoothdp.services.shuffler.sealing import due_windows, seal_window
from smoothdp.services.shuffler.shuffler import Clock, Shuffler
from smoothdp.services.shuffler.shuffler_tables import SHUFFLER_SCHEMA
from smoothdp.services.shuffler.shuffler_web import batch_states, sealed_reports, shuffler_app
from smoothdp.services.store.party_storage import open_storage
from smoothdp.services.wire.calls import connect
from smoothdp.services.wire.key_files import SECRETS_FILE, read_secret, read_task
from smoothdp.services.wire.task import Task
from smoothdp.services.wire.tokens import issue_client_token


@dataclass(frozen=True, slots=True)
class ShufflerParty:
    """The shuffler of one task, with what it needs to reach the analyser.

    >>> import tempfile
    >>> from smoothdp.services import PrivateKey, create_task, write_parties
    >>> key = PrivateKey.generate()
    >>> task = create_task("boolean_sum", epsilon="1", delta="1e-6", min_batch=500,
    ...     analyzer_key=key.public)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     written = write_parties(Path(folder), task, key)
    ...     party = ShufflerParty.from_directory(written.shuffler)
    ...     app = party.app("https://analyzer.example")  # for `run`
    ...     party.task == task, party.shuffler.totals()["accepted"]
    ...     party.shuffler.storage.close()
    (True, 0)
    """

    task: Task
    shuffler: Shuffler
    delivery_token: str
    directory: Path

    @classmethod
    def from_directory(
        cls, directory: Path, *, clock: Clock = time.time, storage: str | None = None
    ) -> ShufflerParty:
        """Return the shuffler whose secrets, and state without ``storage``, are in a directory.

        Raises:
            InvalidData: no directory of a shuffler, one that others can read, or state that is
                not its own.
            InvalidParameter: ``storage`` that is no address of PostgreSQL.
        """
        task = read_task(directory)
        secrets = read_secret(directory / SECRETS_FILE, ("issuing_key", "delivery_token"))
        shuffler = Shuffler(
            open_storage(directory, "shuffler", SHUFFLER_SCHEMA, storage),
            tasks=[task],
            issuing_key=bytes.fromhex(secrets["issuing_key"]),
            clock=clock,
        )
        return cls(task, shuffler, secrets["delivery_token"], directory)

    def work(self, analyzer_url: str, *, trust: Trust | None = None) -> None:
        """Seal the windows that are over, hand over batches, and delete what is done."""
        for window in due_windows(self.shuffler, self.task):
            seal_window(self.shuffler, self.task, window)
        with connect(analyzer_url, trust=trust) as http:
            deliver_batches(self.shuffler, putting(http, self.delivery_token))
        self.shuffler.storage.forget()

    def app(
        self,
        analyzer_url: str,
        *,
        work_seconds: float = 10.0,
        more: Sequence[Route] = (),
        trust: Trust | None = None,
    ) -> Starlette:
        """Return the HTTP application, which works in between.

        Args:
            analyzer_url: where batches go.
            work_seconds: pause between two rounds of work.
            more: routes beside its own.
            trust: whom to believe at that address; read from its files in every round.
        """
        return shuffler_app(
            self.shuffler,
            work=lambda: self.work(analyzer_url, trust=trust),
            work_seconds=work_seconds,
            more=more,
            operations=self._operations(work_seconds),
        )

    def _operations(self, work_seconds: float) -> Operations:
        """Return what an operator may ask."""
        storage, directory = self.shuffler.storage, self.directory
        return Operations(
            "shuffler",
            Rounds(pause=work_seconds),
            {
                "storage": lambda: storage_condition(storage),
                "disk": lambda: disk_condition(directory),
                "delivery": lambda: delivery_condition(oldest_undelivered(self.shuffler)),
            },
            {
                "reports": lambda: sealed_reports(self.shuffler),
                "batches": lambda: batch_states(self.shuffler),
            },
        )


def issue_tokens(directory: Path, count: int) -> list[str]:
    """Return tokens for new clients, made in the shuffler's directory.

    Args:
        directory: the shuffler's.
        count: how many; whoever holds one may send once in each window.

    Raises:
        InvalidData: no directory of a shuffler, or one that others can read.
        InvalidParameter: a count that is negative or not whole.

    >>> import tempfile
    >>> from smoothdp.services import PrivateKey, create_task, write_parties
    >>> key = PrivateKey.generate()
    >>> task = create_task("boolean_sum", epsilon="1", delta="1e-6", min_batch=500,
    ...     analyzer_key=key.public)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     written = write_parties(Path(folder), task, key)
    ...     tokens = issue_tokens(written.shuffler, 2)
    >>> [len(token) for token in tokens]
    [96, 96]
    """
    n_tokens = exact_int(count, name="count", minimum=0)
    task = read_task(directory)
    key = bytes.fromhex(read_secret(directory / SECRETS_FILE, ("issuing_key",))["issuing_key"])
    return [issue_client_token(key, task.task_id) for _ in range(n_tokens)]
