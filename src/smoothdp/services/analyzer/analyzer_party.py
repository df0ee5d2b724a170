"""The analyser from its directory, ready to serve."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from starlette.applications import Starlette

from smoothdp.errors import InvalidData, LedgerError
from smoothdp.services.analyzer.analyzer import Analyzer
from smoothdp.services.analyzer.analyzer_tables import ANALYZER_SCHEMA
from smoothdp.services.analyzer.analyzer_web import analyzer_app
from smoothdp.services.analyzer.release import work
from smoothdp.services.faults import Reach, pass_by
from smoothdp.services.formats.party_files import read_callers, read_task
from smoothdp.services.formats.signing import SigningKey
from smoothdp.services.formats.task import Task
from smoothdp.services.operations.admin import Operations
from smoothdp.services.operations.clock_guard import ClockGuard
from smoothdp.services.operations.health import (
    Condition,
    Rounds,
    clock_condition,
    disk_condition,
    keys_condition,
    storage_condition,
)
from smoothdp.services.operations.logs import Cause
from smoothdp.services.store.erasable_keys import ErasableKeys
from smoothdp.services.store.one_task import require_one_task
from smoothdp.services.store.party_storage import open_storage
from smoothdp.services.wire.key_files import SECRETS_FILE, read_secret

INNER_KEYS_FILE = "inner.sqlite"


@dataclass(frozen=True, slots=True)
class AnalyzerParty:
    """The analyser of one task.

    Attributes:
        callers: role -> the hash of the token of that party.

    >>> import tempfile
    >>> from smoothdp.services import agree_on_one_host
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     task = agree_on_one_host(Path(folder), "boolean_sum", epsilon="1", delta="1e-6",
    ...         min_batch=300, issuer_url="http://127.0.0.1:8603", origin="127.0.0.1")
    ...     party = AnalyzerParty.from_directory(Path(folder, "analyzer"))
    ...     app = party.app()  # for `run`
    ...     party.work()  # nothing has come in yet
    ...     party.close()
    >>> party.task == task, sorted(party.callers)
    (True, ['collector', 'issuer', 'shuffler'])
    """

    task: Task
    analyzer: Analyzer
    keys: ErasableKeys
    callers: Mapping[str, str]
    directory: Path

    @classmethod
    def from_directory(
        cls,
        directory: Path,
        *,
        clocks: ClockGuard | None = None,
        storage: str | None = None,
        reach: Reach = pass_by,
    ) -> AnalyzerParty:
        """Return the analyser whose secrets, and state without ``storage``, are in a directory.

        Raises:
            InvalidData: no directory of an analyser, one that others can read, the key of
                another task, or state that is not its own.
            InvalidParameter: ``storage`` that is no address of PostgreSQL.
            LedgerError: a ledger that is damaged, or lacks the charge of a release.
        """
        task = read_task(directory)
        secrets = read_secret(directory / SECRETS_FILE, ("sign_key",))
        sign_key = SigningKey.from_bytes(bytes.fromhex(secrets["sign_key"]))
        if sign_key.public.hex != task.analyzer_sign_key:
            raise InvalidData(
                expected="the analyser's key that the task names",
                got=f"another in {directory}",
                remedy="Give the directory of the analyser of this task",
            )
        callers = read_callers(directory, task)
        keys = ErasableKeys(directory / INNER_KEYS_FILE)
        opened = open_storage(directory, "analyzer", ANALYZER_SCHEMA, storage)
        require_one_task(opened, "card", task.task_id, directory=directory, scopes=keys.scopes())
        analyzer = Analyzer(
            opened,
            task=task,
            keys=keys,
            sign_key=sign_key,
            ledgers=directory,
            clocks=clocks or ClockGuard(),
            reach=reach,
        )
        return cls(task, analyzer, keys, callers, directory)

    def work(self) -> None:
        """One round: count, release, end what has lapsed, erase what has ended."""
        work(self.analyzer)

    def app(self, *, work_seconds: float = 10.0) -> Starlette:
        """Return the HTTP application, which works in between."""
        return analyzer_app(
            self.analyzer,
            callers=self.callers,
            work=self.work,
            work_seconds=work_seconds,
            operations=self._operations(work_seconds),
        )

    def _ledger_condition(self) -> Condition:
        """Whether the ledger can be read: without it no card is made, and nothing released."""
        try:
            charged = self.analyzer.ledger.charged()
        except LedgerError as error:
            return Condition("ledger", False, str(error), Cause.LEDGER)
        return Condition("ledger", True, f"{len(charged)} windows are charged")

    def _operations(self, work_seconds: float) -> Operations:
        """Return what an operator may ask."""
        storage, directory = self.analyzer.storage, self.directory
        return Operations(
            "analyzer",
            Rounds(pause=work_seconds),
            {
                "storage": lambda: storage_condition(storage, self.keys),
                "disk": lambda: disk_condition(directory),
                "clock": lambda: clock_condition(self.analyzer.clocks),
                "keys": lambda: keys_condition(len(self.analyzer.cards.lost())),
                "ledger": self._ledger_condition,
            },
            {"batches": lambda: self.analyzer.batch_states()},
        )

    def close(self) -> None:
        """Release the files."""
        self.analyzer.storage.close()
        self.keys.close()
