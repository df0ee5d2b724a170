"""The analyser from its directory, ready to serve."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from starlette.applications import Starlette

from smoothdp.errors import InvalidData
from smoothdp.services.analyzer.analyzer import Analyzer
from smoothdp.services.analyzer.analyzer_tables import ANALYZER_SCHEMA
from smoothdp.services.analyzer.analyzer_web import analyzer_app, batch_states
from smoothdp.services.analyzer.window_release import release_counted
from smoothdp.services.operations.admin import Operations
from smoothdp.services.operations.health import Rounds, disk_condition, storage_condition
from smoothdp.services.store.party_storage import open_storage
from smoothdp.services.wire.hybrid import PrivateKey
from smoothdp.services.wire.key_files import SECRETS_FILE, read_secret, read_task
from smoothdp.services.wire.task import Task


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
    directory: Path

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
                remedy="Give the directory that task create made for the analyser of this task",
            )
        return cls(
            task,
            analyzer,
            secrets["delivery_token_sha256"],
            secrets["collector_token_sha256"],
            directory,
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
            operations=self._operations(work_seconds),
        )

    def _operations(self, work_seconds: float) -> Operations:
        """Return what an operator may ask."""
        storage, directory = self.analyzer.storage, self.directory
        return Operations(
            "analyzer",
            Rounds(pause=work_seconds),
            {
                "storage": lambda: storage_condition(storage),
                "disk": lambda: disk_condition(directory),
            },
            {"batches": lambda: batch_states(self.analyzer)},
        )
