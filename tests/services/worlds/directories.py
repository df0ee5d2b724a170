"""Directories of all parties of one task, as ``task create --one-host`` makes them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from smoothdp.services.formats.design.agreeing import agree_on_one_host
from smoothdp.services.formats.task import Task


@dataclass(frozen=True)
class Directories:
    """A task, and the directory of each of its parties."""

    task: Task
    analyzer: Path
    shuffler: Path
    issuer: Path
    collector: Path


def party_directories(folder: Path, protocol: str = "boolean_sum", **more: Any) -> Directories:
    """Write the directories of a task of few users below a folder."""
    fields: dict[str, Any] = {
        "epsilon": "4",
        "delta": "0.01",
        "min_batch": 12,
        "window_seconds": 3600,
        "grace_seconds": 600,
        "windows": 20,
        "issuer_url": "https://issuer.example",
        "origin": "analyzer.example",
    }
    task = agree_on_one_host(folder, protocol, **(fields | more))
    names = ("analyzer", "shuffler", "issuer", "collector")
    return Directories(task, *(folder / name for name in names))
