"""The committed program of the poll page, run in Node with a stand-in for the browser's storage."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).parents[3] / "browser"
BUNDLE = FOLDER.parent / "src" / "smoothdp" / "services" / "shuffler" / "poll_page" / "poll.js"

needs_node = pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")


def run(code: str, given: Any = None) -> Any:
    """Return what code returns after the page's program was loaded; it sees ``given``."""
    done = subprocess.run(
        ["node", str(FOLDER / "test" / "page.mjs")],
        input=json.dumps({"bundle": str(BUNDLE), "code": code, "given": given}),
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)
