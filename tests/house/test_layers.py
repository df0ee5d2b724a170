"""The contracts on imports hold, and each of them can fail."""

from __future__ import annotations

import ast
import os
import re
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
    ("exact/random/random_words.py", "import smoothdp.claims", "Imports go downwards"),
    (
        "exact/balls/special.py",
        "import smoothdp.exact.random.random_words",
        "A shelf of exact imports",
    ),
    ("mechanisms/composed.py", "import smoothdp.shuffle", "Imports go downwards"),
    ("attic.py", '"""A room without a floor."""', "Imports go downwards"),
    ("claims/curves/profile.py", "import flint", "Only exact imports flint"),
    ("report/measurement.py", "import matplotlib", "Only plots imports matplotlib"),
    ("papers/smoothed_dp/elections.py", "import pyarrow.parquet", "Only data imports pyarrow"),
    ("report/__init__.py", "import click", "Only cli imports click"),
    (
        "mechanisms/sampling/draws.py",
        "import scipy.stats",
        "Certified numbers do not come from scipy",
    ),
    (
        "services/analyzer/analyzer.py",
        "import smoothdp.services.shuffler.ingest",
        "The parties of the services",
    ),
    (
        "report/html/page.py",
        "import smoothdp.claims.open_sealed",
        "Only samplers open what is sealed",
    ),
]


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, int], dict[str, str]]:
    """All of them in one copy: the line of each, and what is said below each broken contract."""
    folder = tmp_path_factory.mktemp("planted")
    shutil.copytree(ROOT / "src", folder / "src", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", folder)
    places = {}
    for file, line, _ in PLANTED:
        path = folder / "src/smoothdp" / file
        text = (path.read_text() if path.exists() else "") + f"\n{line}\n"
        path.write_text(text)
        places[file] = text.count("\n")
    result = lint(folder)
    assert result.returncode == 1
    _, _, told = result.stdout.partition("\nBroken contracts\n")
    parts = re.split(r"^(.+)\n-+$", told, flags=re.MULTILINE)[1:]
    return places, dict(zip(parts[::2], parts[1::2], strict=True))


def test_contracts_break_for_what_is_planted_alone(
    planted: tuple[dict[str, int], dict[str, str]],
) -> None:
    """As many imports are told below a contract as were planted for it, and no other is broken."""
    _, broken = planted
    wanted = [contract for _, _, contract in PLANTED]
    assert len(broken) == len(set(wanted))
    for name, told in broken.items():
        named = told.count("(l.") + told.count("- smoothdp.attic\n")
        assert named == sum(name.startswith(contract) for contract in wanted) > 0, told


@pytest.mark.parametrize(("file", "line", "contract"), PLANTED)
def test_contracts_can_fail(
    planted: tuple[dict[str, int], dict[str, str]], file: str, line: str, contract: str
) -> None:
    places, broken = planted
    (told,) = [told for name, told in broken.items() if name.startswith(contract)]
    module = "smoothdp." + file.removesuffix("/__init__.py").removesuffix(".py").replace("/", ".")
    if not line.startswith("import "):
        assert f"- {module}\n" in told
        return
    # A package from outside is named by its first name.
    imported = line.split()[1]
    if not imported.startswith("smoothdp."):
        imported = imported.split(".")[0]
    assert re.search(
        rf"^- +{re.escape(f'{module} -> {imported} (l.{places[file]})')}$", told, re.MULTILINE
    )


def behind_faces(source: str) -> list[str]:
    """Return the modules that an import names behind the face of a room other than cli."""
    named = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom):
            named.append(node.module or "")
        elif isinstance(node, ast.Import):
            named += [alias.name for alias in node.names]
    behind = [name for name in named if name.startswith("smoothdp.") and name.count(".") > 1]
    return [name for name in behind if not name.startswith("smoothdp.cli.")]


def test_commands_import_public_names_only() -> None:
    for path in (ROOT / "src/smoothdp/cli").rglob("*.py"):
        assert not behind_faces(path.read_text(encoding="utf-8")), path
    assert behind_faces("from smoothdp.data.refusals import reason") == ["smoothdp.data.refusals"]
