"""Results as the analyser signed them, in files: what the poll page shows."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterable
from pathlib import Path

from smoothdp.errors import InvalidParameter
from smoothdp.services.formats.reading import DecodeError
from smoothdp.services.formats.result import SignedResult, most_result_bytes
from smoothdp.services.formats.task import Task

PUBLISHED = "published"
"""The folder of results that are shown, one file each, as the analyser signed them."""

_Version = tuple[int, ...]
_Shown = tuple[int, bytes]


class PublishedResults:
    """The results of a task in a folder: a file that stays as it is is read and checked once.

    Every open page asks for them every few seconds, and strangers as often as they like.

    Args:
        folder: made, for its owner alone, where it is not there.
        task: what the task's analyser signed of it is a result, other files are passed by.

    Raises:
        InvalidParameter: a folder that cannot be made.

    >>> import tempfile
    >>> from types import SimpleNamespace
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     PublishedResults(Path(folder), SimpleNamespace(task_id=b"")).document()
    b'[]'
    """

    def __init__(self, folder: Path, task: Task) -> None:
        _make(folder)
        self._folder, self._task = folder, task
        self._lock = threading.Lock()
        self._there: dict[Path, tuple[_Version, _Shown | None]] = {}
        self._document = b"[]"

    def document(self) -> bytes:
        """Return the released results as a list in JSON, oldest window first."""
        with self._lock:
            there = {path: self._checked(path) for path in self._folder.glob("*.json")}
            if there != self._there:
                self._there = there
                shown = sorted(one for _, one in there.values() if one is not None)
                self._document = b"[%s]" % b",".join(text for _, text in shown)
            return self._document

    def _checked(self, path: Path) -> tuple[_Version, _Shown | None]:
        version, before = _version_of(path), self._there.get(path)
        if before is not None and before[0] == version:
            return before
        try:
            found = _signed_in(path, self._task)
        except OSError:
            # Taken away meanwhile, or of another user.
            found = None
        # What was signed of a window that was not released has no number to show.
        if found is None or "state" in found[1].document:
            return version, None
        text = json.dumps(json.loads(found[1].encode()), separators=(",", ":"))
        return version, (found[0], text.encode())


def signed_results(paths: Iterable[Path], task: Task) -> list[SignedResult]:
    """Return what the task's analyser signed among files, oldest window first.

    Raises:
        OSError: a file that cannot be read, which may be the one that is looked for.
    """
    found = [one for path in paths if (one := _signed_in(path, task)) is not None]
    return [signed for _, signed in sorted(found, key=lambda one: one[0])]


def _signed_in(path: Path, task: Task) -> tuple[int, SignedResult] | None:
    """Return window and result of a file, None where the task's analyser signed nothing in it."""
    if not path.is_file() or path.stat().st_size > most_result_bytes(task.names_of_bins):
        return None
    try:
        signed = SignedResult.decode(path.read_bytes())
        document = signed.document
    except (ValueError, DecodeError):
        return None
    window = document.get("window")
    if document.get("task_id") != task.task_id.hex() or type(window) is not int:
        return None
    return (window, signed) if signed.verify(task.analyzer_key) else None


def _version_of(path: Path) -> _Version:
    """Return what is another one after a file was written, or put in the place of another."""
    try:
        status = path.stat()
    except OSError:
        return ()
    return status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def _make(folder: Path) -> None:
    """Make a folder that only its owner reads, unless there is one."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidParameter(
            expected=f"a folder for results at {folder}",
            got=f"{error.strerror}",
            remedy="Make that folder, where the shuffler may write",
        ) from None


def publish(folder: Path, result: SignedResult) -> Path:
    """Write a released result where the poll page shows it; return the file.

    >>> import tempfile
    >>> from smoothdp.services.formats.signing import SigningKey
    >>> result = SignedResult.sign({"task_id": "00", "window": 7}, SigningKey.generate())
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     publish(Path(folder), result).name
    '7.json'
    """
    _make(folder)
    path = folder / f"{int(result.document['window'])}.json"
    before = path.with_suffix(".new")
    before.write_bytes(result.encode())
    before.replace(path)
    return path
