"""What each party keeps in its own directory: secrets in files that only their owner reads."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from smoothdp.errors import InvalidData, explain
from smoothdp.services.hybrid import PrivateKey
from smoothdp.services.task import Task
from smoothdp.services.tokens import new_secret, token_hash

TASK_FILE, SECRETS_FILE = "task.json", "secrets.json"


def write_secret(path: Path, document: dict[str, Any]) -> None:
    """Write a file that must not be there yet, readable by its owner alone."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        handle = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    except FileExistsError:
        raise InvalidData(
            explain("a new file", f"{path} exists", "Choose another directory")
        ) from None
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        json.dump(document, file, indent=2)
        file.flush()
        os.fsync(file.fileno())


def read_secret(path: Path, names: tuple[str, ...]) -> dict[str, str]:
    """Return the named strings of a file of secrets, or raise InvalidData."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InvalidData(
            explain(f"a file of secrets at {path}", type(error).__name__, "Run task create")
        ) from None
    if not isinstance(document, dict) or any(not isinstance(document.get(n), str) for n in names):
        raise InvalidData(explain(f"{', '.join(names)} in {path}", "less", "Run task create"))
    return {name: document[name] for name in names}


def read_task(path: Path) -> Task:
    """Return the task in a file or directory."""
    file = path / TASK_FILE if path.is_dir() else path
    try:
        return Task.decode(file.read_bytes())
    except OSError as error:
        raise InvalidData(
            explain(f"a task at {file}", type(error).__name__, "Run task create")
        ) from None


@dataclass(frozen=True, slots=True)
class Written:
    """Where a task's files were written: one directory for each party, to be kept apart."""

    task: Path
    shuffler: Path
    analyzer: Path
    collector: Path


def write_parties(directory: Path, task: Task, key: PrivateKey) -> Written:
    """Write the task, and for each party the secrets that it needs and no others."""
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
    for place in (directory, written.shuffler, written.analyzer, written.collector):
        (place / TASK_FILE).write_bytes(task.encoded)
    return written
