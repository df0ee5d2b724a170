"""Nothing is skipped in silence: a run ends with what was, why, and the command that brings it."""

from __future__ import annotations

import ast
import importlib.util
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.skipped import Skip, command_for, report_skipped

ROOT = Path(__file__).parents[2]
MADE_UP = """
import pytest
def test_runs(): pass
@pytest.mark.parametrize("case", range(3))
def test_browser(case): pytest.skip("chromium is not installed")
def test_library(): pytest.importorskip("polars_of_nobody")
@pytest.mark.xfail(reason="known")
def test_known(): raise AssertionError
"""
WHOLE_FILE = """
import pytest
pytest.skip("Java is not installed", allow_module_level=True)
"""


SKIPS = re.compile(r"\b(?:skip|skipif|importorskip)\b\s*\(")


def reasons() -> Iterator[tuple[str, str]]:
    """Yield every reason for a skip that stands in the tests, with its file."""
    for path in sorted((ROOT / "tests").rglob("*.py")):
        source = path.read_text(encoding="utf-8")
        # To read a whole file takes long, and every worker does.
        if not SKIPS.search(source):
            continue
        for node in ast.walk(ast.parse(source)):
            if not isinstance(node, ast.Call):
                continue
            name = getattr(node.func, "attr", getattr(node.func, "id", ""))
            given = [*node.args, *(k.value for k in node.keywords if k.arg in (None, "reason"))]
            texts = [
                a.value for a in given if isinstance(a, ast.Constant) and isinstance(a.value, str)
            ]
            where = f"{path.relative_to(ROOT)}:{node.lineno}"
            if name in ("skip", "skipif"):
                yield from ((where, text) for text in texts)
            elif name == "importorskip":
                yield from ((where, f"could not import '{text}'") for text in texts)


@pytest.mark.parametrize(("where", "reason"), sorted(reasons()))
def test_every_reason_in_the_tests_has_a_command(where: str, reason: str) -> None:
    if where.startswith("tests/house/test_skipped.py"):
        return
    command = command_for(reason)
    assert command is not None, f"{where}: {reason}: add its command to tests/skipped.py"


def test_every_target_that_is_named_exists() -> None:
    makefile = (ROOT / "Makefile").read_text()
    targets = {
        target
        for line in re.findall(r"^([\w./% -]+):", makefile, re.MULTILINE)
        for target in line.split()
    }
    extras = re.findall(r"^([\w-]+) = \[", (ROOT / "pyproject.toml").read_text(), re.MULTILINE)
    for _, reason in reasons():
        made = re.match(r"make (\S+)", command_for(reason) or "")
        if made is not None:
            extra = made[1].removeprefix("extra-")
            assert made[1] in targets or ("extra-%" in targets and extra in extras), reason


@pytest.mark.parametrize(
    ("reason", "command"),
    [
        ("could not import 'pyhpke': No module named 'pyhpke'", "make extra-dev"),
        ("could not import 'pyarrow.parquet': No module named 'pyarrow'", "make extra-data"),
        ("could not import 'dp_accounting'", "make extra-peers"),
        ("initdb and pg_ctl of PostgreSQL are not installed", "apt-get install postgresql"),
        ("no fork here", "nothing: it is what this system is"),
    ],
)
def test_commands(reason: str, command: str) -> None:
    assert (command_for(reason) or "").startswith(command)


def test_what_is_in_no_extra_is_named() -> None:
    assert "modin" in (command_for("could not import 'modin'") or "")


def test_a_reason_that_nobody_knows_is_told_all_the_same() -> None:
    lines = report_skipped([Skip("tests/test_moon.py", "the moon is full")])
    assert lines[1] == "  why:         the moon is full"
    assert "no command is known" in lines[2]


def test_nothing_skipped_is_nothing_said() -> None:
    assert report_skipped([]) == []


def ends_of_a_run(folder: Path, *options: str) -> str:
    """Return what pytest prints, with this repository's settings and last words."""
    for name in ("conftest.py", "pyproject.toml"):
        shutil.copy(ROOT / name, folder)
    (folder / "tests").mkdir(exist_ok=True)
    for name in ("__init__.py", "skipped.py"):
        shutil.copy(ROOT / "tests" / name, folder / "tests")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *options],
        cwd=folder,
        # Of the plugins only what the options name.
        env={k: v for k, v in os.environ.items() if not k.startswith("PYTEST")}
        | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode in (0, 5), done.stdout + done.stderr
    return done.stdout


WORKERS: list[list[str]] = [[]]
if importlib.util.find_spec("xdist"):
    WORKERS.append(["-p", "xdist", "-n", "2"])


@pytest.mark.parametrize("workers", WORKERS, ids=["one", "two workers"][: len(WORKERS)])
def test_a_run_ends_with_what_was_skipped(tmp_path: Path, workers: list[str]) -> None:
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests/test_made_up.py").write_text(MADE_UP)
    (tmp_path / "tests/test_whole.py").write_text(WHOLE_FILE)
    told = ends_of_a_run(tmp_path, *workers)
    words = told[re.search(r"^=+ skipped =+$", told, re.MULTILINE).start() :]  # type: ignore[union-attr]
    assert "3 tests in tests/test_made_up.py" in words
    assert "  to have them: make chromium" in words
    assert "1 test in tests/test_made_up.py" in words
    assert "install polars-of-nobody" in words
    assert "all tests of 1 file in tests/test_whole.py" in words
    assert words.count("Java is not installed") == 1
    assert "1 passed, 5 skipped, 1 xfailed" in words.splitlines()[-1]


def test_a_run_that_skips_nothing_says_nothing_of_it(tmp_path: Path) -> None:
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests/test_made_up.py").write_text("def test_runs(): pass\n")
    told = ends_of_a_run(tmp_path)
    assert "1 passed" in told
    assert "skipped" not in told


def test_doctests_that_were_not_collected_are_told(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src/plain.py").write_text('"""\n>>> 1 + 1\n2\n"""\n')
    told = ends_of_a_run(tmp_path, "--doctest-modules", "src")
    missing = importlib.util.find_spec("pyspark") is None
    assert ("make extra-spark" in told) == missing
