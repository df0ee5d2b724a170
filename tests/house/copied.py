"""A copy of the library, for tests that change it as a how-to page says."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def copy_of_the_library(folder: Path) -> Path:
    """Return the source folder of a copy in a folder."""
    # With bytecode: times are kept, so that only the files that a test changes are compiled.
    shutil.copytree(ROOT / "src", folder / "src")
    return folder / "src"


def join(source: Path, page: str, code: str, *, room: str) -> None:
    """Put the code of a page into the file that the page imports it from, and name it once."""
    inside = page.partition("## In the library")[2]
    (line,) = re.findall(rf"^from smoothdp\.{room}\S* import \w+$", inside, re.MULTILINE)
    home, name = line.split()[1], line.split()[3]
    assert f"class {name}(" in code
    path = source / (home.replace(".", "/") + ".py")
    assert f"`src/{path.parent.relative_to(source).as_posix()}/" in page
    assert not path.exists()
    path.write_text(code)
    listed = source / f"smoothdp/{room}/__init__.py"
    text = listed.read_text()
    last = list(re.finditer(rf"^from smoothdp\.{room}\.\S+ import \w+$", text, re.MULTILINE))[-1]
    text = f"{text[: last.end()]}\n{line}{text[last.end() :]}"
    listed.write_text(text.replace("__all__ = [\n", f'__all__ = [\n    "{name}",\n'))


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
