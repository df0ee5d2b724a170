"""The shuffler: takes envelopes, at most one per sender and window, and never loses one."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from smoothdp.services.envelope import DecodeError, Header, envelope_id, open_envelope
from smoothdp.services.faults import Reach, pass_by
from smoothdp.services.hybrid import PrivateKey
from smoothdp.services.ingest import SEEN, OpenedReport, Outcome, store_group
from smoothdp.services.outer_keys import OuterKeys
from smoothdp.services.shuffler_tables import EXPIRED
from smoothdp.services.storage import Storage
from smoothdp.services.task import Task
from smoothdp.services.tokens import client_of

Clock = Callable[[], float]


@dataclass(frozen=True, slots=True)
class Upload:
    """An envelope, and the token of who sends it.

    >>> Upload("token", b"envelope").token
    'token'
    """

    token: str
    envelope: bytes


@dataclass(frozen=True, slots=True)
class _Admitted:
    client: bytes
    header: Header
    mark: bytes
    envelope: bytes


class Shuffler:
    """Ingest: authenticate, refuse replays, open the outer layer, store, then acknowledge.

    Args:
        storage: with the tables of `SHUFFLER_SCHEMA`.
        tasks: the tasks that it serves.
        issuing_key: what client tokens are made from.
        clock: seconds; tells only which window it is.
        reach: called at the named points of `faults.POINTS`.

    >>> import tempfile
    >>> from smoothdp.services import Client, OutcomeStore, PublicKey, SqliteStorage, create_task
    >>> from smoothdp.services.shuffler_tables import SHUFFLER_SCHEMA
    >>> from smoothdp.services.tokens import issue_client_token
    >>> task = create_task("boolean_sum", epsilon="1", delta="1e-6", min_batch=500,
    ...     analyzer_key=PrivateKey.generate().public)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     storage = SqliteStorage(folder + "/shuffler.sqlite", SHUFFLER_SCHEMA)
    ...     outcomes = OutcomeStore(folder + "/outcomes.sqlite")
    ...     shuffler = Shuffler(storage, tasks=[task], issuing_key=b"a secret of 32 bytes")
    ...     number, public = shuffler.keys.active()
    ...     client = Client(task, outcomes)
    ...     envelope = client.envelope(1, shuffler_key=(number, PublicKey.from_bytes(public)))
    ...     upload = Upload(issue_client_token(b"a secret of 32 bytes", task.task_id), envelope)
    ...     again = shuffler.accept([upload]) + shuffler.accept([upload])
    ...     counted = shuffler.totals()["accepted"]
    ...     storage.close(), outcomes.close()
    (None, None)
    >>> [outcome.name for outcome in again], counted
    (['ACCEPTED', 'ACCEPTED'], 1)
    """

    def __init__(
        self,
        storage: Storage,
        *,
        tasks: Iterable[Task],
        issuing_key: bytes,
        clock: Clock = time.time,
        reach: Reach = pass_by,
    ) -> None:
        self.storage = storage
        self.tasks = {task.task_id: task for task in tasks}
        self.clock = clock
        self.reach = reach
        self.keys = OuterKeys(storage)
        self._issuing_key = issuing_key

    def window_now(self, task: Task) -> int:
        """Return the number of the window that is open for new reports."""
        return int(self.clock() // task.window_seconds)

    def accept(self, uploads: Sequence[Upload]) -> list[Outcome]:
        """Take a group of envelopes; those accepted are on disk when this returns.

        An envelope that was taken before is answered like a new one and not counted again.
        """
        self.reach("ingest: before opening")
        found = self._open_all(uploads)
        places = [i for i, item in enumerate(found) if isinstance(item, OpenedReport)]
        opened = [item for item in found if isinstance(item, OpenedReport)]
        outcomes = [item if isinstance(item, Outcome) else Outcome.ACCEPTED for item in found]
        if opened:
            with self.storage.transaction() as change:
                stored = store_group(change, opened, tasks=self.tasks, now=self.clock)
                self.reach("ingest: before commit")
            self.reach("ingest: after commit")
            for i, outcome in zip(places, stored, strict=True):
                outcomes[i] = outcome
        return outcomes

    def _open_all(self, uploads: Sequence[Upload]) -> list[OpenedReport | Outcome]:
        keys = self.keys.usable()
        admitted = [self._admit(upload, keys) for upload in uploads]
        waiting = [item for item in admitted if isinstance(item, _Admitted)]
        # What was taken before need not be opened again.
        taken = iter(
            self.storage.read_many(SEEN, [(item.header.key_id, item.mark) for item in waiting])
        )
        return [
            item
            if isinstance(item, Outcome)
            else Outcome.ACCEPTED
            if next(taken)
            else _opened(item, keys[item.header.key_id])
            for item in admitted
        ]

    def _admit(self, upload: Upload, keys: dict[int, PrivateKey]) -> _Admitted | Outcome:
        try:
            header = Header.of(upload.envelope)
        except DecodeError:
            return Outcome.MALFORMED
        task = self.tasks.get(header.task_id)
        if task is None:
            return Outcome.UNKNOWN_TASK
        if header.slots != task.slots:
            return Outcome.MALFORMED
        client = client_of(upload.token, self._issuing_key, header.task_id)
        if client is None:
            return Outcome.UNAUTHORIZED
        if header.key_id not in keys:
            return Outcome.OUTDATED_KEY
        return _Admitted(client, header, envelope_id(upload.envelope), upload.envelope)

    def totals(self) -> dict[str, int]:
        """Return accepted, pending, batched and expired reports: the first is the sum of the rest.

        For operators and tests; `metrics` is what may be shown.
        """
        rows = self.storage.read(
            "SELECT (SELECT coalesce(sum(n), 0) FROM counter WHERE reason = 'accepted'),"
            " (SELECT count(*) FROM pending), (SELECT coalesce(sum(users), 0) FROM batch),"
            " (SELECT coalesce(sum(n), 0) FROM counter WHERE reason = ?)",
            (EXPIRED,),
        )
        return dict(zip(("accepted", "pending", "batched", "expired"), rows[0], strict=True))


def _opened(item: _Admitted, key: PrivateKey) -> OpenedReport | Outcome:
    try:
        report_id, slots = open_envelope(item.envelope, key=key)
    except DecodeError:
        return Outcome.MALFORMED
    return OpenedReport(item.client, item.header, item.mark, report_id, slots)
