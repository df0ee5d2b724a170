"""The marks of a window to whoever asks: one copy in memory for all, a piece at a time each."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator, Callable, Mapping
from weakref import WeakValueDictionary

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

_PIECE_BYTES = 1 << 16


class MarksAnswers:
    """Answers with files of 16 bytes a person, which strangers may fetch over slow lines at once.

    Args:
        read: returns the file of a window, or None.
    """

    def __init__(self, read: Callable[[int], bytes | None]) -> None:
        self._read = read
        self._there: WeakValueDictionary[int, _File] = WeakValueDictionary()
        self._lock = threading.Lock()

    def file(self, window: int) -> _File | None:
        """Return the file of a window, which is there for as long as somebody reads it, or None."""
        # Of many that ask at once one reads the storage.
        with self._lock:
            found = self._there.get(window)
            if found is None and (data := self._read(window)) is not None:
                found = self._there[window] = _File(data)
            return found


class _File:
    """The bytes of a file that several answers share."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    def answer(self, request: Request, kind: str, headers: Mapping[str, str]) -> Response:
        """Return the answer to a GET or HEAD."""
        length = {"content-length": str(len(self._data))}
        return StreamingResponse(
            self._pieces(is_wanted=request.method != "HEAD"),
            media_type=kind,
            headers={**headers, **length},
        )

    async def _pieces(self, *, is_wanted: bool) -> AsyncIterator[memoryview]:
        # The next one is taken once most of what was sent is on its way.
        whole = memoryview(self._data)
        for start in range(0, len(whole) if is_wanted else 0, _PIECE_BYTES):
            yield whole[start : start + _PIECE_BYTES]
