"""Keys of scopes as they stand in a file of erasable keys."""

from __future__ import annotations

from smoothdp.services.store.erasable_keys import ErasableKeys


def secret_of(keys: ErasableKeys, scope: bytes) -> bytes:
    """Return the key of a scope."""
    rows = keys._storage.read("SELECT secret FROM data_key WHERE scope = ?", (scope,))
    return bytes(rows[0][0])
