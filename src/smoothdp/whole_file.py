"""Writing files whole or not at all."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from smoothdp.errors import InvalidParameter


@contextmanager
def whole_file(target: Path) -> Iterator[Path]:
    """Yield a path to write to; what is there takes the place of ``target`` at the end.

    After an error ``target`` is as it was. Folders that are not there are made. A device or a pipe
    is written to as it is: its place is not taken.

    Raises:
        InvalidParameter: a folder.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with whole_file(Path(folder, "new", "a.txt")) as partial:
    ...         _ = partial.write_text("all of it")
    ...     Path(folder, "new", "a.txt").read_text()
    'all of it'
    """
    if target.is_dir():
        raise InvalidParameter(
            expected="a file to write", got=f"the folder {target}", remedy="Name a file"
        )
    if target.exists() and not target.is_file():
        yield target
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = target.with_name(f".{target.name}.partial")
    try:
        yield partial
        partial.replace(target)
    finally:
        partial.unlink(missing_ok=True)
