"""The pages of a file, kept as a disk keeps them: after it was cut, or is gone."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

_PIPE_BYTES = 1 << 20


def pages_of(path: Path) -> Callable[[], bytes]:
    """Return a call that reads the pages of a file as they are then, or were when it was cut.

    A pipe keeps the pages themselves, not what was in them: what is written over them is seen.
    """
    size, pipes = path.stat().st_size, []
    with path.open("rb") as file:
        while size:
            reader, writer = os.pipe()
            fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)
            left = max(0, size - _PIPE_BYTES)
            while size > left:
                size -= os.splice(file.fileno(), writer, size - left)
            os.close(writer)
            pipes.append(reader)

    def read() -> bytes:
        found = []
        for reader in pipes:
            with open(reader, "rb") as pipe:
                found.append(pipe.read())
        return b"".join(found)

    return read


def _keeps_pages() -> bool:
    if not hasattr(os, "splice"):
        return False
    with TemporaryDirectory() as folder:
        trial = Path(folder, "trial")
        trial.write_bytes(b"a" * 8192)
        seen = pages_of(trial)
        with trial.open("r+b") as file:
            file.write(b"z" * 8192)
            file.flush()
            file.truncate(0)
        return set(seen()) == set(b"z")


KEEPS_PAGES = pytest.mark.skipif(
    not _keeps_pages(), reason="not Linux: pages of a file cannot be kept"
)
