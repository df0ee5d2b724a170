"""The marks of a window to whoever asks: one copy in memory for all who read it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from weakref import WeakValueDictionary

from starlette.responses import Response


class MarksAnswers:
    """Answers with files of 16 bytes a person, which strangers may fetch over slow lines at once.

    Args:
        read: returns the file of a window, or None.
        media_type: of the files.
        headers: of each answer.

    >>> answers = MarksAnswers(lambda window: bytes(window) or None, "x/y", {})
    >>> one = answers.of(16)
    >>> one is answers.of(16), answers.of(0)
    (True, None)
    """

    def __init__(
        self, read: Callable[[int], bytes | None], media_type: str, headers: Mapping[str, str]
    ) -> None:
        self._read, self._media_type, self._headers = read, media_type, headers
        self._there: WeakValueDictionary[int, Response] = WeakValueDictionary()
        self._lock = threading.Lock()

    def of(self, window: int) -> Response | None:
        """Return the answer of a window, kept for as long as somebody reads it; None without."""
        # Of many that ask at once one reads the storage.
        with self._lock:
            found = self._there.get(window)
            if found is None and (data := self._read(window)) is not None:
                found = Response(data, media_type=self._media_type, headers=self._headers)
                self._there[window] = found
            return found
