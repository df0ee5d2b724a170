"""The vectors of the protocol: `../vectors/serve.json`, computed by other implementations."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

_ALL: list[dict[str, Any]] = json.loads(
    Path(__file__).parents[1].joinpath("vectors", "serve.json").read_text(encoding="utf-8")
)["cases"]


def cases(function: str, *, count: int) -> list[tuple[dict[str, Any], Any]]:
    """Return (inputs, expected) of every case of a function; ``count`` of them are there."""
    found = [(case["inputs"], case["expected"]) for case in _ALL if case["function"] == function]
    assert len(found) == count
    return found
