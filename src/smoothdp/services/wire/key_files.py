"""What each party keeps in its own directory: secrets in files that only their owner reads."""

from __future__ import annotations

import json
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from smoothdp.data.refusals import reason
from smoothdp.errors import InvalidData
from smoothdp.services.wire.hybrid import PrivateKey
from smoothdp.services.wire.task import Task
from smoothdp.services.wire.tokens import TOKEN_LENGTH, new_secret, token_hash

TASK_FILE, SECRETS_FILE = "task.json", "secrets.json"
_HEXADECIMAL = re.compile("[0-9a-f]{64}")


def write_new(path: Path, data: bytes, *, mode: int) -> None:
    """Write a file that must not be there yet, not even as a link, with these rights."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        handle = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, mode)
    except FileExistsError:
        raise InvalidData(
            expected="a new file", got=f"{path} exists", remedy="Choose another directory"
        ) from None
    with os.fdopen(handle, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


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
            remedy="Run smoothdp task create, and give the directory that it made for this party",
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
            remedy="Give the directory that task create made for this party",
        )
    return {name: document[name] for name in names}


def read_token(path: Path) -> str:
    """Return the client's token in a file.

    Raises:
        InvalidData: no file, or something else in it.

    >>> import tempfile
    >>> from smoothdp.services.wire.tokens import TOKEN_LENGTH
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "token")
    ...     written = path.write_text("0a" * (TOKEN_LENGTH // 2))
    ...     read_token(path)[:4]
    '0a0a'
    """
    try:
        text = path.read_text(encoding="ascii").strip()
        got = "something else" if text else "an empty file"
    except (OSError, ValueError) as error:
        text, got = "", reason(error)
    if not re.fullmatch(f"[0-9a-f]{{{TOKEN_LENGTH}}}", text):
        raise InvalidData(
            expected=f"one token in the file {path}",
            got=got,
            remedy="smoothdp task tokens prints tokens",
        )
    return text


def read_task(path: Path) -> Task:
    """Return the task in a file or directory.

    Raises:
        InvalidData: no such file, or something else in it.
        InvalidParameter: a task with a field outside its domain.

    >>> import tempfile
    >>> from smoothdp.services import create_task
    >>> key = PrivateKey.generate()
    >>> task = create_task("boolean_sum", epsilon="1", delta="1e-6", min_batch=500,
    ...     analyzer_key=key.public)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     written = write_parties(Path(folder), task, key)
    ...     read_task(written.task) == read_task(written.shuffler) == task
    True
    """
    file = path / TASK_FILE if path.is_dir() else path
    try:
        return Task.decode(file.read_bytes())
    except OSError as error:
        raise InvalidData(
            expected=f"a task at {file}",
            got=reason(error),
            remedy="Give the file or directory that smoothdp task create made",
        ) from None


@dataclass(frozen=True, slots=True)
class Written:
    """Where a task's files were written: one directory for each party, to be kept apart."""

    task: Path
    shuffler: Path
    analyzer: Path
    collector: Path


def write_parties(directory: Path, task: Task, key: PrivateKey) -> Written:
    """Write the task, and for each party the secrets that it needs and no others.

    Args:
        directory: made if it is not there; each party takes its own directory from it.
        task: what all agree on.
        key: the analyser's; it is written into the analyser's directory alone.

    Raises:
        InvalidData: a file of a task is there already.
        OSError: a directory that cannot be made or written.

    >>> import tempfile
    >>> from smoothdp.services import create_task
    >>> key = PrivateKey.generate()
    >>> task = create_task("boolean_sum", epsilon="1", delta="1e-6", min_batch=500,
    ...     analyzer_key=key.public)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     written = write_parties(Path(folder), task, key)
    ...     sorted(file.name for file in written.shuffler.iterdir())
    ['secrets.json', 'task.json']
    """
    delivery, collector = new_secret().hex(), new_secret().hex()
    written = Written(
        directory / TASK_FILE,
        directory / "shuffler",
        directory / "analyzer",
        directory / "collector",
    )
    write_secret(
        written.shuffler / SECRETS_FILE,
        {"issuing_key": new_secret().hex(), "delivery_token": delivery},
    )
    write_secret(
        written.analyzer / SECRETS_FILE,
        {
            "private_key": key.to_bytes().hex(),
            "delivery_token_sha256": token_hash(delivery),
            "collector_token_sha256": token_hash(collector),
        },
    )
    write_secret(written.collector / SECRETS_FILE, {"collector_token": collector})
    for folder in (directory, written.shuffler, written.analyzer, written.collector):
        write_new(folder / TASK_FILE, task.encoded, mode=0o644)
    return written
