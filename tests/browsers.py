"""The browser of the tests: Chromium of the system, or the one that `make chromium` brought."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome")
FOLDER = Path(__file__).parents[1] / "build" / "browsers"
MISSING = "chromium is not installed"


def chromium() -> str | None:
    """Return the path of a Chromium, or None if there is none."""
    for name in NAMES:
        if found := shutil.which(name):
            return found
    brought = (path for name in ("chrome", "Chromium") for path in FOLDER.rglob(name))
    return next((str(p) for p in brought if p.is_file() and os.access(p, os.X_OK)), None)
