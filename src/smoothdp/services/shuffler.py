"""The shuffler: takes envelopes, at most one per sender and window, and never loses one."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import Enum

from smoothdp.services.batch import MOST_SLOTS_OF_BATCH
from smoothdp.services.envelope import DecodeError, Header, envelope_id, open_envelope
from smoothdp.services.faults import Reach, pass_by
from smoothdp.services.hybrid import PrivateKey
from smoothdp.services.outer_keys import OuterKeys
from smoothdp.services.shuffler_tables import EXPIRED, OPEN
from smoothdp.services.storage import Storage, Transaction
from smoothdp.services.task import Task
from smoothdp.services.tokens import client_of, new_secret, tag

Clock = Callable[[], float]


class Outcome(Enum):
    """What became of an envelope, with its HTTP status."""

    ACCEPTED = 202
    MALFORMED = 400
    UNAUTHORIZED = 401
    UNKNOWN_TASK = 404
    OUTDATED_KEY = 409
    CLOSED = 410
    TOO_EARLY = 425
    QUOTA = 429
    FULL = 503


@dataclass(frozen=True, slots=True)
class Upload:
    """An envelope, and the token of who sends it."""

    token: str
    envelope: bytes


@dataclass(frozen=True, slots=True)
class _Opened:
    place: int
    client: bytes
    header: Header
    mark: bytes
    report_id: bytes
    slots: bytes


class Shuffler:
    """Ingest: authenticate, refuse replays, open the outer layer, store, then acknowledge.

    Args:
        storage: with the tables of `SHUFFLER_SCHEMA`.
        tasks: the tasks that it serves.
        issuing_key: what client tokens are made from.
        clock: seconds; tells only which window it is.
        reach: called at the named points of `faults.POINTS`.
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
        outcomes: list[Outcome] = [Outcome.ACCEPTED] * len(uploads)
        self.reach("ingest: before opening")
        opened = self._open_all(uploads, outcomes)
        if opened:
            counts: Counter[tuple[bytes, int, str]] = Counter()
            with self.storage.transaction() as change:
                known = {
                    int(row[0])
                    for row in change.execute("SELECT id FROM outer_key WHERE secret IS NOT NULL")
                }
                for item in opened:
                    if item.header.key_id in known:
                        outcomes[item.place] = self._store(change, item, counts)
                    else:
                        outcomes[item.place] = Outcome.OUTDATED_KEY
                for (task_id, window, reason), n in counts.items():
                    add_to_counter(change, task_id, window, reason, n)
                self.reach("ingest: before commit")
            self.reach("ingest: after commit")
        return outcomes

    # ---- before the transaction -----------------------------------------------------------

    def _open_all(self, uploads: Sequence[Upload], outcomes: list[Outcome]) -> list[_Opened]:
        keys, opened = self.keys.usable(), []
        for place, upload in enumerate(uploads):
            found = self._open_one(place, upload, keys)
            if isinstance(found, Outcome):
                outcomes[place] = found
            else:
                opened.append(found)
        return opened

    def _open_one(
        self, place: int, upload: Upload, keys: dict[int, PrivateKey]
    ) -> _Opened | Outcome:
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
        key = keys.get(header.key_id)
        if key is None:
            return Outcome.OUTDATED_KEY
        mark = envelope_id(upload.envelope)
        if self.storage.read(
            "SELECT 1 FROM seen WHERE key_id = ? AND envelope_id = ?", (header.key_id, mark)
        ):
            return Outcome.ACCEPTED
        try:
            report_id, slots = open_envelope(upload.envelope, key=key)
        except DecodeError:
            return Outcome.MALFORMED
        return _Opened(place, client, header, mark, report_id, slots)

    # ---- inside the transaction -----------------------------------------------------------

    def _store(
        self, change: Transaction, item: _Opened, counts: Counter[tuple[bytes, int, str]]
    ) -> Outcome:
        header, place = item.header, (item.header.task_id, item.header.window)
        if change.execute(
            "SELECT 1 FROM seen WHERE key_id = ? AND envelope_id = ?", (header.key_id, item.mark)
        ):
            return Outcome.ACCEPTED
        tag_key = self._open_window(change, header)
        if isinstance(tag_key, Outcome):
            return tag_key
        sender, report = (
            tag(tag_key, b"sender", item.client),
            tag(tag_key, b"report", item.report_id),
        )
        earlier = change.execute(
            "SELECT report_tag FROM quota WHERE task_id = ? AND window = ? AND sender_tag = ?",
            (*place, sender),
        )
        if earlier:
            if bytes(earlier[0][0]) != report:
                counts[(*place, "over quota")] += 1
                return Outcome.QUOTA
            # The same report, sealed anew: for a new key, or because the answer was lost.
            counts[(*place, "repeated")] += 1
        else:
            task = self.tasks[header.task_id]
            held = counts[(*place, "accepted")] + read_counter(change, *place, "accepted")
            if (held + 1) * task.slots > MOST_SLOTS_OF_BATCH:
                return Outcome.FULL
            if not change.change(
                "INSERT OR IGNORE INTO pending (task_id, window, report_id, slots) "
                "VALUES (?, ?, ?, ?)",
                (*place, item.report_id, item.slots),
            ):
                # Two senders with one 128-bit number: one of them copied it.
                counts[(*place, "over quota")] += 1
                return Outcome.QUOTA
            change.change(
                "INSERT INTO quota (task_id, window, sender_tag, report_tag) VALUES (?, ?, ?, ?)",
                (*place, sender, report),
            )
            counts[(*place, "accepted")] += 1
        change.change(
            "INSERT INTO seen (key_id, envelope_id) VALUES (?, ?)", (header.key_id, item.mark)
        )
        return Outcome.ACCEPTED

    def _open_window(self, change: Transaction, header: Header) -> bytes | Outcome:
        """Return the key of the window's sender marks, or why it takes no reports."""
        task = self.tasks[header.task_id]
        place = (header.task_id, header.window)
        rows = change.execute(
            "SELECT state, tag_key FROM collecting WHERE task_id = ? AND window = ?", place
        )
        if rows and rows[0][0] != OPEN:
            return Outcome.CLOSED
        now = self.clock()
        if now < header.window * task.window_seconds:
            return Outcome.TOO_EARLY
        if now >= (header.window + 1) * task.window_seconds + task.grace_seconds:
            return Outcome.CLOSED
        if rows:
            return bytes(rows[0][1])
        key = new_secret()
        change.change(
            "INSERT INTO collecting (task_id, window, state, tag_key) VALUES (?, ?, ?, ?)",
            (*place, OPEN, key),
        )
        return key

    # ---- counts that hide everything but totals -----------------------------------------------

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


def add_to_counter(change: Transaction, task_id: bytes, window: int, reason: str, n: int) -> None:
    """Add to a counter of a window."""
    change.change(
        "INSERT INTO counter (task_id, window, reason, n) VALUES (?, ?, ?, ?) "
        "ON CONFLICT (task_id, window, reason) DO UPDATE SET n = counter.n + excluded.n",
        (task_id, window, reason, n),
    )


def read_counter(change: Transaction, task_id: bytes, window: int, reason: str) -> int:
    """Return a counter of a window."""
    rows = change.execute(
        "SELECT n FROM counter WHERE task_id = ? AND window = ? AND reason = ?",
        (task_id, window, reason),
    )
    return int(rows[0][0]) if rows else 0
