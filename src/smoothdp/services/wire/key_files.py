"""What each party keeps in its own directory: secrets in files that only their owner reads."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from typing import Any

from smoothdp.data.refusals import reason
from smoothdp.errors import InvalidData

TASK_FILE, SECRETS_FILE = "task.json", "secrets.json"
_HEXADECIMAL = re.compile("[0-9a-f]{64}")
_MADE: ContextVar[tuple[list[Path], ...]] = ContextVar("_MADE", default=())
"""What each `all_or_none` that is under way removes again if something goes wrong."""


def write_new(path: Path, data: bytes, *, mode: int) -> None:
    """Write a file that must not be there yet, not even as a link, with these rights."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        handle = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, mode)
    except FileExistsError:
        raise InvalidData(
            expected="a new file", got=f"{path} exists", remedy="Choose another directory"
        ) from None
    for made in _MADE.get():
        made.append(path)
    with os.fdopen(handle, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


@contextmanager
def all_or_none(*files: Path) -> Iterator[None]:
    """Remove what `write_new` made meanwhile, and its new folders, if something goes wrong.

    Half of the files would be in the way of the next try. What was there before, or was made by
    another program that does the same just now, stays.

    Args:
        files: all that are to be made.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "new", "task.json")
    ...     with suppress(OSError), all_or_none(path):
    ...         write_new(path, b"{}", mode=0o644)
    ...         raise OSError("disk full")
    ...     path.parent.exists()
    False
    """
    above = {folder for file in files for folder in file.parents}
    folders = [folder for folder in above if not os.path.lexists(folder)]
    made: list[Path] = []
    token = _MADE.set((*_MADE.get(), made))
    try:
        yield
    except BaseException:
        for file in made:
            with suppress(OSError):
                file.unlink()
        for folder in sorted(folders, key=lambda folder: len(folder.parts), reverse=True):
            with suppress(OSError):
                folder.rmdir()
        raise
    finally:
        _MADE.reset(token)


def write_secret(path: Path, document: dict[str, Any]) -> None:
    """Write a file of secrets, readable by its owner alone."""
    write_new(path, json.dumps(document, indent=2).encode(), mode=0o600)


def read_secret(path: Path, names: tuple[str, ...]) -> dict[str, str]:
    """Return the named secrets of a file, in hexadecimal.

    Raises:
        InvalidData: no such file, one that others can read, or other secrets.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "secrets.json")
    ...     write_secret(path, {"collector_token": "0a" * 32})
    ...     read_secret(path, ("collector_token",))["collector_token"][:4]
    '0a0a'
    """
    try:
        rights = path.stat().st_mode & 0o077
        document = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise InvalidData(
            expected=f"the secrets of this party at {path}",
            got=reason(error) if isinstance(error, OSError) else "no JSON",
            remedy="Give the directory that smoothdp task keys made for this party",
        ) from None
    if rights:
        raise InvalidData(
            expected=f"{path} to be its owner's alone",
            got="rights for others",
            remedy=f"chmod 600 {path}",
        )
    secrets = document if isinstance(document, dict) else {}
    missing = [name for name in names if not _HEXADECIMAL.fullmatch(str(secrets.get(name)))]
    if missing:
        raise InvalidData(
            expected=f"{', '.join(missing)} in {path}",
            got="the secrets of another party, or a damaged file",
            remedy="Give the directory that smoothdp task keys made for this party",
        )
    return {name: document[name] for name in names}
