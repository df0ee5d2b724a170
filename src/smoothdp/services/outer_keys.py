"""The shuffler's own keys: one is advertised, older ones still open, destroyed ones are gone."""

from __future__ import annotations

from smoothdp.errors import OutOfReach
from smoothdp.services.hybrid import PrivateKey
from smoothdp.services.shuffler_tables import ACTIVE, DESTROYED, EXPIRED
from smoothdp.services.storage import Storage, Transaction

_MOST_KEYS = 256


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
            expected="at most 256 keys at a time", got="256", remedy="Rotate to destroy some"
        )
    key = PrivateKey.generate()
    change.change(
        "INSERT INTO outer_key (id, secret, public, state) VALUES (?, ?, ?, ?)",
        (free[0], key.to_bytes(), key.public.to_bytes(), ACTIVE),
    )
    return free[0]
