"""The shuffler: takes envelopes, at most one per sender and window, and never loses one."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from smoothdp.errors import OutOfReach
from smoothdp.services.faults import Reach, pass_by
from smoothdp.services.shuffler.ingest import SEEN, OpenedReport, store_group
from smoothdp.services.shuffler.shuffler_tables import ACTIVE, DESTROYED, EXPIRED
from smoothdp.services.store.storage import Storage, Transaction
from smoothdp.services.wire.calls import Outcome
from smoothdp.services.wire.envelope import DecodeError, Header, envelope_id, open_envelope
from smoothdp.services.wire.hybrid import PrivateKey
from smoothdp.services.wire.task import Task
from smoothdp.services.wire.tokens import client_of

Clock = Callable[[], float]
_MOST_KEYS = 256


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
    >>> from smoothdp.services.shuffler.shuffler_tables import SHUFFLER_SCHEMA
    >>> from smoothdp.services.wire.tokens import issue_client_token
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

    def knows(self, token: str, task_id: bytes) -> bool:
        """Whether a token is one that this shuffler issued for a task."""
        return client_of(token, self._issuing_key, task_id) is not None

    def accept(self, uploads: Sequence[Upload]) -> list[Outcome]:
        """Take a group of envelopes; those accepted are on disk when this returns.

        An envelope that was taken before is answered like a new one and not counted again.
        """
        self.reach("ingest: before opening")
        judged = self._open_all(uploads)
        indices = [i for i, item in enumerate(judged) if isinstance(item, OpenedReport)]
        opened = [item for item in judged if isinstance(item, OpenedReport)]
        outcomes = [item if isinstance(item, Outcome) else Outcome.ACCEPTED for item in judged]
        if opened:
            with self.storage.transaction() as change:
                stored = store_group(change, opened, tasks=self.tasks, now=self.clock)
                self.reach("ingest: before commit")
            self.reach("ingest: after commit")
            for i, outcome in zip(indices, stored, strict=True):
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


# ---- the shuffler's own keys: one is advertised, older ones still open, destroyed ones are gone


class OuterKeys:
    """Keys in the shuffler's storage, so that a key and its replay marks go in one transaction."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self._opened: dict[int, PrivateKey] = {}
        with storage.transaction() as change:
            if not change.execute("SELECT id FROM outer_key WHERE state = ?", (ACTIVE,)):
                _insert_new(change)

    def active(self) -> tuple[int, bytes]:
        """Return (number, public key) of the key to seal to."""
        row = self._storage.read("SELECT id, public FROM outer_key WHERE state = ?", (ACTIVE,))[0]
        return int(row[0]), bytes(row[1])

    def usable(self) -> dict[int, PrivateKey]:
        """Return the keys that still open envelopes, as storage knows them now."""
        rows = self._storage.read("SELECT id FROM outer_key WHERE secret IS NOT NULL")
        known = {int(row[0]) for row in rows}
        for key_id in known - self._opened.keys():
            secret = self._storage.read("SELECT secret FROM outer_key WHERE id = ?", (key_id,))
            if secret and secret[0][0] is not None:
                self._opened[key_id] = PrivateKey.from_bytes(secret[0][0])
        self._opened = {key_id: self._opened[key_id] for key_id in known & self._opened.keys()}
        return dict(self._opened)

    def rotate(self) -> int:
        """Advertise a new key, keep the last one for late reports, destroy the ones before.

        The replay marks of a destroyed key are dropped with it: nothing sealed to it can be
        opened any more. Returns the number of the new key.
        """
        with self._storage.transaction() as change:
            change.change("DELETE FROM outer_key WHERE state = ?", (DESTROYED,))
            change.change(
                "DELETE FROM seen WHERE key_id IN (SELECT id FROM outer_key WHERE state = ?)",
                (EXPIRED,),
            )
            change.change(
                "UPDATE outer_key SET secret = NULL, state = ? WHERE state = ?",
                (DESTROYED, EXPIRED),
            )
            change.change("UPDATE outer_key SET state = ? WHERE state = ?", (EXPIRED, ACTIVE))
            key_id = _insert_new(change)
        self._storage.forget()
        return key_id


def _insert_new(change: Transaction) -> int:
    used = {int(row[0]) for row in change.execute("SELECT id FROM outer_key")}
    last = max(used, default=0)
    free = [(last + step) % _MOST_KEYS for step in range(1, _MOST_KEYS + 1)]
    free = [key_id for key_id in free if key_id not in used]
    if not free:
        raise OutOfReach(
            expected="at most 256 keys at a time",
            got="256",
            remedy="Destroy old keys by rotating, then make the new one",
        )
    key = PrivateKey.generate()
    change.change(
        "INSERT INTO outer_key (id, secret, public, state) VALUES (?, ?, ?, ?)",
        (free[0], key.to_bytes(), key.public.to_bytes(), ACTIVE),
    )
    return free[0]
