"""A copy of the library, for tests that change it as a how-to page says."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def copy_of_the_library(folder: Path) -> Path:
    """Return the source folder of a copy in a folder."""
    shutil.copytree(ROOT / "src", folder / "src", ignore=shutil.ignore_patterns("__pycache__"))
    return folder / "src"


def run_in(source: Path, program: str) -> subprocess.CompletedProcess[str]:
    """Run a Python program with the copy as the only smoothdp."""
    return subprocess.run(
        [sys.executable, "-c", program],
        cwd=source,
        env={**os.environ, "PYTHONPATH": str(source)},
        capture_output=True,
        text=True,
        check=False,
    )
