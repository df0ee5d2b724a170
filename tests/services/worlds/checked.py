"""What a check of a directory finds wrong."""

from __future__ import annotations

from pathlib import Path

from smoothdp.services.check import check_party


def what_is_wrong(directory: Path, *, results: Path | None = None) -> dict[str, str]:
    """Return what is not good, by name, and what is said of it."""
    found = check_party(directory, results=results)
    return {condition.name: condition.says for condition in found if not condition.good}
