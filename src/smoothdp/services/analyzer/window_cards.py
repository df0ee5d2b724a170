"""The analyser's half of a card: one per window for ever, within the budget, key stored first."""

from __future__ import annotations

from smoothdp.services.analyzer.analyzer_tables import COUNTED, HALF, MADE, OVER, SIGNED
from smoothdp.services.analyzer.task_ledger import TaskLedger
from smoothdp.services.formats.card import Card, sign_card
from smoothdp.services.formats.design.budget import KEY_SECONDS, ahead_seconds, windows_paid
from smoothdp.services.formats.signing import SigningKey
from smoothdp.services.formats.task import Task
from smoothdp.services.operations.clock_guard import ClockGuard, Verdict
from smoothdp.services.store.erasable_keys import ErasableKeys
from smoothdp.services.store.storage import Storage, Transaction
from smoothdp.services.wire.hybrid import PrivateKey

GATEWAY, ISSUER = "gateway", "spki"
"""The keys that others bring for a card: columns of its table."""
_SHOWN = b"card "
"""Of the names that are noted: a signature to a card of the window has left."""
_TRIED = b"tried "
"""Since when a window that has lapsed could not be ended: name and seconds since 1970."""
TRYING_SECONDS = 86_400
"""For how long a window that has lapsed keeps its key where it cannot be ended."""


def key_scope(task_id: bytes, window: int) -> bytes:
    """Return the name under which a window's private key is erased."""
    return task_id + window.to_bytes(4, "big")


def window_in(scope: bytes, task_id: bytes) -> int:
    """Return the window that a name of `key_scope` is of."""
    return int.from_bytes(scope[len(task_id) :], "big")


class WindowCards:
    """Cards of one task.

    A card is made for windows that begin before now + max(2 windows, 24 h), while windows
    charged + cards open < windows that the budget pays. Its inner key is on disk before its
    signature leaves; a second one is never made, even if the key or the database is lost: that
    a signature left is noted beside the keys. Once the key is erased nothing that was recorded
    opens (proofs/marks-and-erasure#4).
    """

    def __init__(
        self,
        storage: Storage,
        *,
        task: Task,
        keys: ErasableKeys,
        sign_key: SigningKey,
        ledger: TaskLedger,
        clocks: ClockGuard,
    ) -> None:
        self._storage, self._task, self._keys = storage, task, keys
        self._sign_key, self._ledger, self._clocks = sign_key, ledger, clocks
        self._shuffler_key = task.shuffler_key
        self._shown: set[int] = set()
        # Of a program before, which noted nothing: all that is known now.
        self._keys.note(*(self._shown_name(window) for window in self._made()))

    # ---- what others bring -----------------------------------------------------------------

    def put_key(self, kind: str, window: int, key: bytes) -> int:
        """Take a gateway key or an issuer key; the HTTP status.

        201 new, 200 known, 409 another one is known, 425 too far ahead, 410 over, 404 the
        budget does not pay.
        """
        task_window = (self._task.task_id, window)
        if (refused := self._wrong_time(window)) is not None:
            return refused
        with self._storage.transaction() as change:
            rows = change.execute(
                f"SELECT {kind}, state FROM card WHERE task_id = ? AND window = ?", task_window
            )
            known = bytes(rows[0][0]) if rows and rows[0][0] is not None else None
            if known is not None and known != key:
                return 409
            if rows and rows[0][1] not in (HALF,):
                return 200 if known == key else 409
            if not self._pays(change, window):
                return 404
            if not rows:
                change.change(
                    "INSERT INTO card (task_id, window, state) VALUES (?, ?, ?)",
                    (*task_window, HALF),
                )
            change.change(
                f"UPDATE card SET {kind} = ? WHERE task_id = ? AND window = ?", (key, *task_window)
            )
            self._make(change, window)
        return 200 if known else 201

    def put_signed(self, window: int, data: bytes) -> int:
        """Take a card with both signatures; the HTTP status: 201, 200 known, 404, 409, 422."""
        task_window = (self._task.task_id, window)
        with self._storage.transaction() as change:
            rows = change.execute(
                "SELECT card, signed, state FROM card WHERE task_id = ? AND window = ?",
                task_window,
            )
            if not rows or rows[0][0] is None:
                return 404
            own = self._half_signed(bytes(rows[0][0]))
            if rows[0][2] != MADE:
                return 200 if rows[0][1] is not None and bytes(rows[0][1]) == data else 409
            if not self._has_key(window):
                # Lost since it was shown: from here nobody gets a card that could not be opened.
                return 404
            if data[: len(own)] != own:
                return 409
            if not self._shuffler_key.check("card", bytes(rows[0][0]), data[len(own) :]):
                return 422
            change.change(
                "UPDATE card SET signed = ?, state = ? WHERE task_id = ? AND window = ?",
                (data, SIGNED, *task_window),
            )
        return 201

    def shown(self, window: int) -> bytes | None:
        """Return the card of a window with the signatures that it has.

        None before it is made, and where its key was lost before the shuffler signed it.
        """
        rows = self._storage.read(
            "SELECT card, signed FROM card WHERE task_id = ? AND window = ?",
            (self._task.task_id, window),
        )
        if not rows or rows[0][0] is None:
            return None
        if rows[0][1] is not None:
            return bytes(rows[0][1])
        if not self._has_key(window):
            return None
        self._note_shown(window)
        return self._half_signed(bytes(rows[0][0]))

    # ---- what the analyser itself needs ------------------------------------------------------

    def card(self, window: int) -> Card | None:
        """Return the card of a window that both have signed, or None."""
        rows = self._storage.read(
            "SELECT card FROM card WHERE task_id = ? AND window = ? AND signed IS NOT NULL",
            (self._task.task_id, window),
        )
        return Card.decode(bytes(rows[0][0])) if rows else None

    def window_of(self, digest: bytes) -> int | None:
        """Return the window of the card with this digest that both have signed, or None."""
        rows = self._storage.read(
            "SELECT window FROM card WHERE task_id = ? AND digest = ? AND signed IS NOT NULL",
            (self._task.task_id, digest),
        )
        return int(rows[0][0]) if rows else None

    def inner_key(self, window: int) -> PrivateKey | None:
        """Return the key that opens the slots of a window; None once it is erased.

        Raises:
            StorageLost: the file of keys is away; it may come back with the key.
        """
        self._keys.require_in_place()
        if key_scope(self._task.task_id, window) not in self._keys.scopes():
            return None
        rows = self._storage.read(
            "SELECT sealed_key FROM card WHERE task_id = ? AND window = ?",
            (self._task.task_id, window),
        )
        return PrivateKey.from_bytes(self._keys.open(bytes(rows[0][0])))

    def _has_key(self, window: int) -> bool:
        return (
            self._keys.is_in_place()
            and key_scope(self._task.task_id, window) in self._keys.scopes()
        )

    def end(self, change: Transaction, window: int) -> None:
        """Note that a window has ended: its share of the budget is free unless it was charged."""
        change.change(
            "UPDATE card SET state = ? WHERE task_id = ? AND window = ?",
            (OVER, self._task.task_id, window),
        )

    def going_on(self) -> list[int]:
        """Return the windows that have not ended."""
        rows = self._storage.read(
            "SELECT window FROM card WHERE task_id = ? AND state <> ? ORDER BY window",
            (self._task.task_id, OVER),
        )
        return [int(window) for (window,) in rows]

    def erase_ended(self) -> None:
        """Overwrite the inner keys of windows that have ended.

        Of a window without a card, too, once it has lapsed: its card was never committed, or the
        database was lost, and is new or an older copy; nothing else will end that window. And of
        one that has lapsed and could not be ended for a day, as the database is away, full or
        broken: of that the file of keys, which may be elsewhere, keeps the time itself.

        The log of their file too, each time: a program that was stopped between the two, or
        somebody who read the file, left them there.

        Raises:
            SmoothdpError, OSError: the database does not say which windows have ended.
        """
        task_id = self._task.task_id
        own = [scope for scope in sorted(self._keys.scopes()) if scope.startswith(task_id)]
        states: dict[bytes, str] | None = None
        try:
            query = "SELECT window, state FROM card WHERE task_id = ?"
            rows = self._storage.read(query, (task_id,))
            states = {key_scope(task_id, int(window)): state for window, state in rows}
        finally:
            self._keys.erase([scope for scope in own if self._is_over(scope, states)])

    def _is_over(self, scope: bytes, states: dict[bytes, str] | None) -> bool:
        """Whether a key is of no more use; ``states`` is None where the database tells nothing."""
        if states is not None and states.get(scope) == OVER:
            return True
        if not self._has_lapsed(scope):
            return False
        lost = states is not None and scope not in states
        return lost or self._was_tried_for_a_day(scope)

    def _was_tried_for_a_day(self, scope: bytes) -> bool:
        """Whether it was noted a day ago that a window has lapsed and goes on; noted now if not."""
        now, name = int(self._clocks.now()), _TRIED + scope
        since = [
            int.from_bytes(note[len(name) :], "big")
            for note in self._keys.notes()
            if note.startswith(name)
        ]
        if not since:
            self._keys.note(name + now.to_bytes(8, "big"))
        return bool(since) and now - min(since) >= TRYING_SECONDS

    def _has_lapsed(self, scope: bytes) -> bool:
        """Whether the window of a key is over for so long that every window has ended then."""
        task = self._task
        end = (window_in(scope, task.task_id) + 1) * task.window_seconds
        verdict = self._clocks.verdict(end + task.grace_seconds + KEY_SECONDS)
        return verdict is Verdict.CLOSE

    def _made(self) -> list[int]:
        """Return the windows that go on and have a card."""
        rows = self._storage.read(
            "SELECT window FROM card WHERE task_id = ? AND state IN (?, ?)",
            (self._task.task_id, MADE, SIGNED),
        )
        return [int(window) for (window,) in rows]

    def lost(self) -> list[int]:
        """Return the windows that go on and have no private key any more: its file was lost."""
        before, made = self._keys.scopes(), self._made()
        # Ended, or made, meanwhile: the key was there before, or is there now.
        there = {*before, *self._keys.scopes()} if self._keys.is_in_place() else set()
        named = {window: key_scope(self._task.task_id, window) for window in made}
        return [window for window, scope in named.items() if scope not in there]

    # ---- making ------------------------------------------------------------------------------

    def _wrong_time(self, window: int) -> int | None:
        now, length = self._clocks.now(), self._task.window_seconds
        if window * length >= now + ahead_seconds(self._task):
            return 425
        return 410 if now >= (window + 1) * length else None

    def _pays(self, change: Transaction, window: int) -> bool:
        task_id = self._task.task_id
        rows = change.execute("SELECT window, state FROM card WHERE task_id = ?", (task_id,))
        states = {int(row[0]): str(row[1]) for row in rows}
        # Read after the cards: a window that ended before them is charged by now.
        taken = self._ledger.charged().keys() | {
            at for at, state in states.items() if state in (MADE, SIGNED)
        }
        # A batch that waits for the ledger will be charged.
        waiting = "SELECT window FROM batch WHERE task_id = ? AND state = ?"
        taken |= {int(at) for (at,) in change.execute(waiting, (task_id, COUNTED))}
        # Where the database was lost people may answer with a card of before: its key tells of it,
        # until it is erased with the window.
        taken |= {
            at
            for scope in self._keys.scopes()
            if states.get(at := window_in(scope, task_id), HALF) == HALF
        }
        return len(taken - {window}) < windows_paid(self._task)

    def _make(self, change: Transaction, window: int) -> None:
        """Make the card of a window whose keys are all there."""
        task_window = (self._task.task_id, window)
        gateway, spki = change.execute(
            "SELECT gateway, spki FROM card WHERE task_id = ? AND window = ?", task_window
        )[0]
        if gateway is None or (spki is None and self._task.signed):
            return
        if self._was_shown(window):
            # The database was lost, or is an older copy: there is a signature to another card.
            return
        if not self._keys.is_in_place():
            # Its key would be in no file that a restart finds.
            return
        inner = PrivateKey.generate()
        card = Card(
            task_id=self._task.task_id,
            window=window,
            gateway_key=bytes(gateway),
            inner_key=inner.public.to_bytes(),
            issuer_spki=bytes(spki) if spki is not None else None,
        )
        sealed = self._keys.seal(key_scope(*task_window), inner.to_bytes())
        change.change(
            "UPDATE card SET card = ?, digest = ?, sealed_key = ?, state = ? "
            "WHERE task_id = ? AND window = ?",
            (card.encode(), card.digest, sealed, MADE, *task_window),
        )

    def _note_shown(self, window: int) -> None:
        """Note beside the keys, which have no older copy, that a card of a window was signed."""
        if not self._was_shown(window):
            self._keys.note(self._shown_name(window))
            self._shown.add(window)

    def _was_shown(self, window: int) -> bool:
        if window not in self._shown and self._shown_name(window) in self._keys.notes():
            self._shown.add(window)
        return window in self._shown

    def _shown_name(self, window: int) -> bytes:
        return _SHOWN + key_scope(self._task.task_id, window)

    def _half_signed(self, card: bytes) -> bytes:
        return card + sign_card(Card.decode(card), self._sign_key)
