"""Files of a party that are put back to what they were."""

from __future__ import annotations

from pathlib import Path


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
