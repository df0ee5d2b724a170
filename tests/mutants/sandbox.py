"""A copy of library and tests in which a mutant runs: the checkout is never touched."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import NamedTuple

from tests.mutants.mutant import ROOT, Mutant

COPIED = ("src", "tests", "conftest.py", "pyproject.toml")
# pytest's exit codes: all passed, some failed, stopped while collecting.
_PASSED, _FAILED, _STOPPED = 0, 1, 2


class Outcome(NamedTuple):
    """How the tests of a mutant, or of the library itself, ended.

    Attributes:
        verdict: "passed", "failed", "time" (they did not end) or "broken" (they did not run).
        seconds: how long it took.
        detail: the first failure, or what pytest said.
    """

    verdict: str
    seconds: float
    detail: str


class Sandbox(AbstractContextManager["Sandbox"]):
    """A copy of the repository below a temporary folder."""

    def __init__(self, root: Path = ROOT, *, copied: Sequence[str] = COPIED) -> None:
        self._folder = TemporaryDirectory(prefix="mutants-")
        self.root = Path(self._folder.name)
        ignored = shutil.ignore_patterns("__pycache__", "*.egg-info")
        for name in copied:
            source = root / name
            if source.is_dir():
                shutil.copytree(source, self.root / name, ignore=ignored)
            else:
                shutil.copy(source, self.root / name)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._folder.cleanup()

    def run(self, tests: Sequence[str], *, limit: float) -> Outcome:
        """Run tests of the copy until the first one fails, or the limit in seconds."""
        command = [sys.executable, "-m", "pytest", "-x", "-q", "--no-header", "--tb=no"]
        command += ["-p", "no:cacheprovider", *tests]
        start = time.monotonic()
        try:
            done = subprocess.run(
                command,
                cwd=self.root,
                env=os.environ | {"PYTHONPATH": str(self.root / "src")},
                capture_output=True,
                text=True,
                timeout=limit,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return Outcome("time", limit, f"no end within {limit:.0f} s")
        seconds = time.monotonic() - start
        verdicts = {_PASSED: "passed", _FAILED: "failed", _STOPPED: "failed"}
        return Outcome(verdicts.get(done.returncode, "broken"), seconds, _detail(done.stdout))

    def with_mutant(self, mutant: Mutant, act: Callable[[], Outcome]) -> Outcome:
        """Act while the mutant stands in place of its file."""
        path = mutant.path(self.root)
        before, changed = path.read_text(encoding="utf-8"), mutant.applied(self.root)
        try:
            self._write(path, changed)
            return act()
        finally:
            self._write(path, before)

    def _write(self, path: Path, text: str) -> None:
        path.write_text(text, encoding="utf-8")
        # What was compiled is told apart by size and whole seconds, which may be the same.
        Path(importlib.util.cache_from_source(str(path))).unlink(missing_ok=True)


def _detail(printed: str) -> str:
    lines = [line.strip() for line in printed.splitlines() if line.strip()]
    failed = [line for line in lines if line.startswith(("FAILED", "ERROR"))]
    return (failed or lines or [""])[-1]
