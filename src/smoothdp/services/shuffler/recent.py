"""Names that came lately, of which a process remembers a bounded number."""

from __future__ import annotations

import threading


class Recent:
    """The last names of many: at least ``most`` of them, and fewer than twice as many.

    Args:
        most: how many are remembered for sure.

    >>> recent = Recent(2)
    >>> [recent.met(name) for name in (b"a", b"a", b"b", b"c", b"d", b"a")]
    [False, True, False, False, False, False]
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._young: set[bytes] = set()
        self._old: set[bytes] = set()
        self._lock = threading.Lock()

    def met(self, name: bytes) -> bool:
        """Return whether a name is remembered; it is from now on."""
        with self._lock:
            known = name in self._young or name in self._old
            self._young.add(name)
            if len(self._young) >= self._most:
                self._old, self._young = self._young, set()
            return known
