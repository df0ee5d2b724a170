"""Files of a party that are put back to what they were."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

NOW, OLDER, DELETED = "now", "older", "deleted"
"""Of when a file is that a party starts on."""


def copy_of(folder: Path, name: str) -> dict[str, bytes]:
    """Return the files whose names begin so: a database, and its log."""
    return {path.name: path.read_bytes() for path in folder.glob(f"{name}*")}


def put_in_place(folder: Path, name: str, copy: dict[str, bytes]) -> None:
    """Put files in the place of those whose names begin so."""
    for path in folder.glob(f"{name}*"):
        path.unlink()
    for found, data in copy.items():
        (folder / found).write_bytes(data)
        (folder / found).chmod(0o600)


def back_up(folder: Path, copy: Path, *names: str) -> None:
    """Copy databases as they are now, what is in their logs too."""
    copy.mkdir(exist_ok=True)
    for name in names:
        with (
            closing(sqlite3.connect(folder / name)) as now,
            closing(sqlite3.connect(copy / name)) as then,
        ):
            now.backup(then)


def restore(copy: Path, folder: Path) -> None:
    """Put databases that were backed up in the place of those of now."""
    for path in copy.iterdir():
        for file in folder.glob(f"{path.name}*"):
            file.unlink()
        shutil.copy(path, folder / path.name)
