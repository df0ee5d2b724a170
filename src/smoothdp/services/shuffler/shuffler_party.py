"""The shuffler from its directory, ready to serve, and the tokens that it issues."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from starlette.applications import Starlette
from starlette.routing import Route

from smoothdp.exact.parameters.numbers import exact_int
from smoothdp.services.shuffler.delivery import deliver_batches, putting
from smoothdp.services.shuffler.sealing import due_windows, seal_window
from smoothdp.services.shuffler.shuffler import Clock, Shuffler
from smoothdp.services.shuffler.shuffler_tables import SHUFFLER_SCHEMA
from smoothdp.services.shuffler.shuffler_web import shuffler_app
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
        return cls(task, shuffler, secrets["delivery_token"])

    def work(self, analyzer_url: str) -> None:
        """Seal the windows that are over, hand over batches, and delete what is done."""
        for window in due_windows(self.shuffler, self.task):
            seal_window(self.shuffler, self.task, window)
        with connect(analyzer_url) as http:
            deliver_batches(self.shuffler, putting(http, self.delivery_token))
        self.shuffler.storage.forget()

    def app(
        self, analyzer_url: str, *, work_seconds: float = 10.0, more: Sequence[Route] = ()
    ) -> Starlette:
        """Return the HTTP application, which works in between; ``more`` routes beside its own."""
        return shuffler_app(
            self.shuffler,
            work=lambda: self.work(analyzer_url),
            work_seconds=work_seconds,
            more=more,
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
