"""A party from its directory: the shuffler or the analyser, ready to serve."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from starlette.applications import Starlette
from starlette.routing import Route

from smoothdp.errors import InvalidData
from smoothdp.exact.parameters.numbers import exact_int
from smoothdp.services.analyzer import Analyzer
from smoothdp.services.analyzer_tables import ANALYZER_SCHEMA
from smoothdp.services.calls import connect, putting
from smoothdp.services.delivery import deliver_batches
from smoothdp.services.hybrid import PrivateKey
from smoothdp.services.key_files import SECRETS_FILE, read_secret, read_task
from smoothdp.services.opening import open_storage
from smoothdp.services.release import release_counted
from smoothdp.services.sealing import due_windows, seal_window
from smoothdp.services.shuffler import Clock, Shuffler
from smoothdp.services.shuffler_tables import SHUFFLER_SCHEMA
from smoothdp.services.task import Task
from smoothdp.services.tokens import issue_client_token
from smoothdp.services.web_analyzer import analyzer_app
from smoothdp.services.web_shuffler import shuffler_app


@dataclass(frozen=True, slots=True)
class ShufflerParty:
    """The shuffler of one task, with what it needs to reach the analyser.

    >>> import tempfile
    >>> from smoothdp.services import create_task, write_parties
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


@dataclass(frozen=True, slots=True)
class AnalyzerParty:
    """The analyser of one task.

    >>> import tempfile
    >>> from smoothdp.services import create_task, write_parties
    >>> key = PrivateKey.generate()
    >>> task = create_task("boolean_sum", epsilon="1", delta="1e-6", min_batch=500,
    ...     analyzer_key=key.public)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     written = write_parties(Path(folder), task, key)
    ...     party = AnalyzerParty.from_directory(written.analyzer)
    ...     app = party.app()  # for `run`
    ...     party.work()  # nothing has come in yet
    ...     party.analyzer.storage.close()
    >>> party.task == task
    True
    """

    task: Task
    analyzer: Analyzer
    delivery_hash: str
    collector_hash: str

    @classmethod
    def from_directory(cls, directory: Path, *, storage: str | None = None) -> AnalyzerParty:
        """Return the analyser whose secrets, and state without ``storage``, are in a directory.

        Raises:
            InvalidData: no directory of an analyser, one that others can read, the key of
                another task, or state that is not its own.
            InvalidParameter: ``storage`` that is no address of PostgreSQL.
            LedgerError: a ledger that is damaged, or lacks the charge of a release.
        """
        task = read_task(directory)
        secrets = read_secret(
            directory / SECRETS_FILE,
            ("private_key", "delivery_token_sha256", "collector_token_sha256"),
        )
        key = PrivateKey.from_bytes(bytes.fromhex(secrets["private_key"]))
        opened = open_storage(directory, "analyzer", ANALYZER_SCHEMA, storage)
        analyzer = Analyzer(opened, tasks=[task], key=key, ledgers=directory)
        if not analyzer.tasks:
            raise InvalidData(
                expected="the key that the task names",
                got=f"another in {directory}",
                remedy="Use its own",
            )
        return cls(
            task, analyzer, secrets["delivery_token_sha256"], secrets["collector_token_sha256"]
        )

    def work(self) -> None:
        """Count the batches that are complete, and release those that may be."""
        self.analyzer.count_complete()
        release_counted(self.analyzer)

    def app(self, *, work_seconds: float = 10.0) -> Starlette:
        """Return the HTTP application, which works in between."""
        return analyzer_app(
            self.analyzer,
            shuffler_tokens=[self.delivery_hash],
            collector_tokens=[self.collector_hash],
            work=self.work,
            work_seconds=work_seconds,
        )


def read_collector(directory: Path) -> tuple[Task, str]:
    """Return the task and the token of the collector whose directory it is.

    Raises:
        InvalidData: no directory of a collector, or one that others can read.

    >>> import tempfile
    >>> from smoothdp.services import create_task, write_parties
    >>> key = PrivateKey.generate()
    >>> task = create_task("boolean_sum", epsilon="1", delta="1e-6", min_batch=500,
    ...     analyzer_key=key.public)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     written = write_parties(Path(folder), task, key)
    ...     task, token = read_collector(written.collector)
    >>> len(token)
    64
    """
    secrets = read_secret(directory / SECRETS_FILE, ("collector_token",))
    return read_task(directory), secrets["collector_token"]


def issue_tokens(directory: Path, count: int) -> list[str]:
    """Return tokens for new clients, made in the shuffler's directory.

    Args:
        directory: the shuffler's.
        count: how many; whoever holds one may send once in each window.

    Raises:
        InvalidData: no directory of a shuffler, or one that others can read.
        InvalidParameter: a count that is negative or not whole.

    >>> import tempfile
    >>> from smoothdp.services import create_task, write_parties
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
