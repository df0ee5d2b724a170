"""The shuffler's half of a card: a gateway key that is stored first, and one signature for ever."""

from __future__ import annotations

from contextlib import suppress

from smoothdp.errors import InvalidData
from smoothdp.services.faults import Reach, pass_by
from smoothdp.services.formats.card import Card, SignedCard, check_card, sign_card
from smoothdp.services.formats.reading import DecodeError
from smoothdp.services.formats.signing import SIGNATURE_BYTES, SigningKey
from smoothdp.services.formats.task import Task
from smoothdp.services.shuffler.shuffler_tables import GIVEN, OFFERED, OPEN, SIGNED
from smoothdp.services.store.erasable_keys import ErasableKeys
from smoothdp.services.store.storage import Storage
from smoothdp.services.tokens.issuer_key import SPKI_BYTES
from smoothdp.services.wire.hybrid import PrivateKey
from smoothdp.services.wire.tokens import new_secret

_CARD_BYTES = 115
"""Of a card without an issuer."""


def key_scope(task_id: bytes, window: int) -> bytes:
    """Return the name under which a window's private key is erased."""
    return task_id + window.to_bytes(4, "big")


def over_name(task_id: bytes, window: int) -> bytes:
    """Return what is noted of a window that is over."""
    return b"over " + key_scope(task_id, window)


def half_bytes(task: Task) -> int:
    """Return the length of a card with the analyser's signature alone."""
    keys = 2 + SPKI_BYTES if task.signed else 0
    return _CARD_BYTES + keys + SIGNATURE_BYTES


class GatewayCards:
    """Gateway keys and cards of one task. A window has one card for ever, even if its key is lost.

    Args:
        storage: with the tables of `SHUFFLER_SCHEMA`.
        keys: seals the private keys; what it erases is gone.
        sign_key: the shuffler's, which the task names.

    Raises:
        InvalidData: rows of an older copy of the database, in which a window is open that was
            closed since: it would be handed over twice, or be said to be destroyed.
    """

    def __init__(
        self,
        storage: Storage,
        *,
        keys: ErasableKeys,
        task: Task,
        sign_key: SigningKey,
        reach: Reach = pass_by,
    ) -> None:
        self._storage, self._keys, self._task, self._sign_key = storage, keys, task, sign_key
        self._reach = reach
        self._opened: dict[int, tuple[SignedCard, PrivateKey]] = {}
        self._noted: set[int] = set()
        # Read before the windows: one that is sealed meanwhile is in no older copy.
        notes = self._keys.notes()
        self._require_open(self._collecting(), notes)
        # Beside a file of keys that is new: all that is known now.
        self.note_over()
        # Of a program that was stopped between storing a card and noting it, too: it is shown.
        self._keys.note(*(self._signed_name(window) for window in self._collecting()))

    def offered_key(self, window: int) -> bytes:
        """Return the public gateway key of a window, which is on disk when this returns."""
        task_window = (self._task.task_id, window)
        query = "SELECT gateway FROM card WHERE task_id = ? AND window = ?"
        rows = self._storage.read(query, task_window)
        if not rows:
            key = PrivateKey.generate()
            with self._storage.transaction() as change:
                # Sealed inside: of two processes, the one that comes late seals nothing.
                if not change.execute(query, task_window):
                    sealed = self._keys.seal(key_scope(*task_window), key.to_bytes())
                    change.change(
                        "INSERT INTO card (task_id, window, gateway, sealed_key, signed, state) "
                        "VALUES (?, ?, ?, ?, NULL, ?)",
                        (*task_window, key.public.to_bytes(), sealed, OFFERED),
                    )
            self._reach("card: key stored")
            rows = self._storage.read(query, task_window)
        return bytes(rows[0][0])

    def sign(self, window: int, offered: bytes) -> bytes:
        """Return card and both signatures, stored first, for a card that the analyser signed.

        Raises:
            InvalidData: a card of another task, window or gateway key, without the analyser's
                signature, one whose gateway key was lost, or a second card for the window.
        """
        # Before the card is looked for: another process that signs it stores it first.
        noted = self._signed_name(window) in self._keys.notes()
        if (stored := self.stored(window)) is not None:
            return self._the_same(window, stored, offered)
        if noted:
            # The database was lost, or is an older copy: there is a signature to another card.
            raise _refused("a window without a card", "one whose card was lost here")
        if not self._keys.is_in_place():
            raise _key_was_lost()
        try:
            stored = self._keep_signed(window, self._signed(offered, window))
        except BaseException:
            self._take_back_signed(window)
            raise
        self._reach("card: signature stored")
        return self._the_same(window, stored, offered)

    def _keep_signed(self, window: int, signed: bytes) -> bytes:
        """Store a signed card, and that there is one, and open the window; return who was first."""
        task_window = (self._task.task_id, window)
        with self._storage.transaction() as change:
            # In here: another process that erases the keys of windows without a card waits.
            if self._over_name(window) in self._keys.notes():
                raise _refused("a window that goes on", "one that ended without a card")
            if key_scope(*task_window) not in self._keys.scopes():
                raise _key_was_lost()
            if not change.change(
                "UPDATE card SET signed = ?, state = ? "
                "WHERE task_id = ? AND window = ? AND state = ?",
                (signed, SIGNED, *task_window, OFFERED),
            ):
                # Another process was first.
                ((signed,),) = change.execute(
                    "SELECT signed FROM card WHERE task_id = ? AND window = ?", task_window
                )
            else:
                # Before anybody is shown the card: that is all that a lost database leaves.
                self._note_signed(window)
                change.change(
                    "INSERT INTO collecting (task_id, window, state, tag_key) VALUES (?, ?, ?, ?)",
                    (*task_window, OPEN, new_secret()),
                )
        return bytes(signed)

    def _the_same(self, window: int, stored: bytes, offered: bytes) -> bytes:
        """Return the card that is stored if it is the one that is offered."""
        if stored[: len(offered)] != offered:
            raise _refused("the one card of the window", "a second one")
        self._note_signed(window)
        return stored

    def _take_back_signed(self, window: int) -> None:
        """Take back that a card was signed, if none is stored: nobody has seen one.

        What cannot be looked at stays noted: the window has no card then.
        """
        with suppress(Exception), self._storage.transaction() as change:
            if not change.execute(
                "SELECT 1 FROM card WHERE task_id = ? AND window = ? AND signed IS NOT NULL",
                (self._task.task_id, window),
            ):
                self._keys.take_back(self._signed_name(window))

    def note_over(self) -> None:
        """Note beside the keys, which have no older copy, which windows are over."""
        noted = self._keys.notes()
        over = [self._over_name(window) for window in self._closed()]
        self._keys.note(*(name for name in over if name not in noted))

    def note_end(self, window: int) -> None:
        """Note beside the keys, before anybody is told of it, that a window is over."""
        if window not in self._noted:
            self._keys.note(self._over_name(window))
            self._noted.add(window)

    def require_open(self, window: int) -> None:
        """Raise InvalidData where a window was closed since, by what is noted beside the keys.

        Of a window that is open by the storage: that is an older copy then, as of a database
        server that failed over to one that lags behind.
        """
        self._require_open([window], self._keys.notes())

    def _require_open(self, windows: list[int], notes: set[bytes]) -> None:
        if over := [window for window in windows if self._over_name(window) in notes]:
            raise InvalidData(
                expected=f"the newest state of the shuffler beside its keys in {self._keys.path}",
                got=f"an older copy, in which window {over[0]} is open: it was closed since",
                remedy="Start with the newest; if it was lost, with none, and let its windows go",
            )

    def _note_signed(self, window: int) -> None:
        """Note beside the keys, which have no older copy, that a signature to a card leaves."""
        self._keys.note(self._signed_name(window))

    def _over_name(self, window: int) -> bytes:
        return over_name(self._task.task_id, window)

    def _signed_name(self, window: int) -> bytes:
        return b"card " + key_scope(self._task.task_id, window)

    def _signed(self, offered: bytes, window: int) -> bytes:
        """Return card and both signatures, if a client would accept it and the key is ours."""
        data, signature = offered[:-SIGNATURE_BYTES], offered[-SIGNATURE_BYTES:]
        try:
            card = Card.decode(data)
        except DecodeError:
            raise _refused("a card", "something else") from None
        if card.gateway_key != self.offered_key(window):
            raise _refused("this shuffler's gateway key", "another one")
        signed = SignedCard(card, signature, sign_card(card, self._sign_key))
        check_card(signed, task=self._task, window=window)
        return signed.encode()

    def given(self, window: int) -> None:
        """Note that the analyser has both signatures."""
        with self._storage.transaction() as change:
            change.change(
                "UPDATE card SET state = ? WHERE task_id = ? AND window = ? AND state = ?",
                (GIVEN, self._task.task_id, window, SIGNED),
            )

    def is_given(self, window: int) -> bool:
        """Whether the analyser has the card of a window with both signatures."""
        rows = self._storage.read(
            "SELECT state FROM card WHERE task_id = ? AND window = ?",
            (self._task.task_id, window),
        )
        return rows == [(GIVEN,)]

    def signed(self) -> int:
        """Return of how many windows there is, or was, a card with both signatures."""
        rows = self._storage.read(
            "SELECT count(*) FROM card WHERE task_id = ? AND signed IS NOT NULL",
            (self._task.task_id,),
        )
        return int(rows[0][0])

    def not_given(self, *, before: int) -> list[int]:
        """Return the windows before one whose card is signed, and which the analyser lacks."""
        rows = self._storage.read(
            "SELECT window FROM card WHERE task_id = ? AND state = ? AND window < ? "
            "ORDER BY window",
            (self._task.task_id, SIGNED, before),
        )
        return [int(window) for (window,) in rows]

    def stored(self, window: int) -> bytes | None:
        """Return the card of a window with both signatures, or None."""
        rows = self._storage.read(
            "SELECT signed FROM card WHERE task_id = ? AND window = ?",
            (self._task.task_id, window),
        )
        return bytes(rows[0][0]) if rows and rows[0][0] is not None else None

    def digest(self, window: int) -> bytes:
        """Return the digest of the card of a window that is signed."""
        stored = self.stored(window)
        assert stored is not None, "a window is collected only after its card was signed"
        return SignedCard.decode(stored).card.digest

    def opened(self, window: int) -> tuple[SignedCard, PrivateKey] | None:
        """Return the card of a window and its private key; None without either."""
        if window not in self._opened:
            signed = self.stored(window)
            rows = self._storage.read(
                "SELECT sealed_key FROM card WHERE task_id = ? AND window = ?",
                (self._task.task_id, window),
            )
            scope = key_scope(self._task.task_id, window)
            if signed is None or scope not in self._keys.scopes():
                return None
            secret = self._keys.open(bytes(rows[0][0]))
            self._opened[window] = SignedCard.decode(signed), PrivateKey.from_bytes(secret)
        return self._opened[window]

    def erase(self, windows: list[int]) -> None:
        """Overwrite the private keys of windows; nothing sealed to them opens any more.

        That they are over is noted before: of a database that is an older copy they are open.
        """
        self._keys.note(*(self._over_name(window) for window in windows))
        self._keys.erase([key_scope(self._task.task_id, window) for window in windows])
        # Those too that another process has erased.
        there = set(self.kept())
        self._opened = {window: key for window, key in self._opened.items() if window in there}

    def erase_unsigned(self, windows: list[int]) -> None:
        """Overwrite the private keys of windows that are over and have no card, nor ever will.

        Whether they have one is looked at, and that they are over is noted, in one transaction:
        whoever signs a card waits, and then signs none.
        """
        if not windows:
            return
        ended, new = list[int](), list[bytes]()
        try:
            with self._storage.transaction() as change:
                with_card = "SELECT 1 FROM collecting WHERE task_id = ? AND window = ?"
                ended += [
                    window
                    for window in windows
                    if not change.execute(with_card, (self._task.task_id, window))
                ]
                before = self._keys.notes()
                new += [name for name in map(self._over_name, ended) if name not in before]
                self._keys.note(*new)
        except BaseException:
            # The lock is gone, perhaps, with the connection: somebody may have signed a card.
            self._keys.take_back(*new)
            raise
        self.erase(ended)

    def kept(self) -> list[int]:
        """Return the windows whose private key is there."""
        task_id = self._task.task_id
        return [
            int.from_bytes(scope[len(task_id) :], "big")
            for scope in self._keys.scopes()
            if scope.startswith(task_id)
        ]

    def lost(self) -> list[int]:
        """Return the windows that are open and have no private key any more: its file was lost."""
        before, collecting = self.kept(), self._collecting()
        # Closed, or opened, meanwhile: the key was there before, or is there now.
        there = {*before, *self.kept()} if self._keys.is_in_place() else set()
        return [window for window in collecting if window not in there]

    def _collecting(self) -> list[int]:
        """Return the windows that are open."""
        rows = self._storage.read(
            "SELECT window FROM collecting WHERE task_id = ? AND state = ?",
            (self._task.task_id, OPEN),
        )
        return [int(window) for (window,) in rows]

    def _closed(self) -> list[int]:
        """Return the windows that had a card and are over: also those of which no more is kept."""
        rows = self._storage.read(
            "SELECT window FROM card WHERE task_id = ? AND signed IS NOT NULL AND window NOT IN "
            "(SELECT window FROM collecting WHERE task_id = ? AND state = ?)",
            (self._task.task_id, self._task.task_id, OPEN),
        )
        return [int(window) for (window,) in rows]


def _key_was_lost() -> InvalidData:
    return _refused("a gateway key that is here", "one that was lost after it was offered")


def _refused(expected: str, got: str) -> InvalidData:
    return InvalidData(
        expected=expected, got=got, remedy="Nothing was signed. Ask who runs the analyser"
    )
