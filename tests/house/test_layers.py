"""The contracts on imports hold, and each of them can fail."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def lint(folder: Path) -> subprocess.CompletedProcess[str]:
    code = "from importlinter.cli import lint_imports_command; lint_imports_command()"
    return subprocess.run(
        [sys.executable, "-c", code, "--no-cache"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(folder / "src"), "COLUMNS": "200"},
        capture_output=True,
        text=True,
        check=False,
    )


def test_contracts_hold() -> None:
    result = lint(ROOT)
    assert result.returncode == 0, result.stdout
    assert " 0 broken" in result.stdout


PLANTED = [
    ("exact/parameters.py", "import smoothdp.privacy", "Imports go downwards"),
    ("plots/canvas.py", "import smoothdp.testing", "Imports go downwards"),
    ("attic.py", '"""A room without a floor."""', "Imports go downwards"),
    ("privacy/profile.py", "import flint", "Only exact imports flint"),
    ("report/measurement.py", "import matplotlib", "Only plots imports matplotlib"),
    ("papers/elections.py", "import pyarrow.parquet", "Only data imports pyarrow"),
    ("report/__init__.py", "import click", "Only cli imports click"),
    ("mechanisms/draws.py", "import scipy.stats", "Certified numbers do not come from scipy"),
    ("report/html/page.py", "import smoothdp.privacy.opening", "Only samplers open what is sealed"),
]


@pytest.mark.parametrize(("file", "line", "contract"), PLANTED)
def test_contracts_can_fail(tmp_path: Path, file: str, line: str, contract: str) -> None:
    shutil.copytree(ROOT / "src", tmp_path / "src", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    with (tmp_path / "src/smoothdp" / file).open("a") as target:
        target.write(f"\n{line}\n")
    result = lint(tmp_path)
    assert result.returncode == 1
    broken = [row for row in result.stdout.splitlines() if row.endswith("BROKEN")]
    assert len(broken) == 1
    assert broken[0].startswith(contract)
