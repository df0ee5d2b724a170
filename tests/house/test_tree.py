"""The tree: short files, no leftovers, every command documented."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import click
import pytest

from smoothdp.cli.main import commands

ROOT = Path(__file__).parents[2]
SOURCES = sorted((ROOT / "src").rglob("*.py"))


def tracked() -> list[Path]:
    """Return the files that git knows or would add; all texts of an unpacked release."""
    if shutil.which("git") and (ROOT / ".git").exists():
        names = subprocess.run(
            ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
            cwd=ROOT,
            check=True,
            capture_output=True,
            text=True,
        ).stdout.split("\n")
        return [ROOT / name for name in names if name and (ROOT / name).is_file()]
    return [p for p in (ROOT / "src").rglob("*") if p.is_file()]


def test_files_are_short_and_say_what_they_are() -> None:
    assert len(SOURCES) > 500
    for path in SOURCES:
        text = path.read_text(encoding="utf-8")
        assert len(text.splitlines()) <= 400, path
        assert text.startswith('"""'), path


def test_commands_are_thin() -> None:
    for path in (ROOT / "src/smoothdp/cli").rglob("*.py"):
        assert len(path.read_text().splitlines()) <= 200, path


def test_no_leftovers() -> None:
    words = re.compile(
        r"\b(TO"
        + r"DO|FIX"
        + r"ME|X"
        + r"XX)\b|NotImplemented"
        + r"Error|/wor"
        + r"k/|/ro"
        + r"ot/"
    )
    for path in tracked():
        if path.suffix in (".py", ".md", ".toml", ".yml", ".csv", ".json", "") and path.is_file():
            found = words.search(path.read_text(encoding="utf-8"))
            assert found is None, f"{path}: {found}"


def walk(command: click.Command, path: str) -> list[tuple[str, click.Command]]:
    found = [(path, command)]
    if isinstance(command, click.Group):
        for name, child in command.commands.items():
            found += walk(child, f"{path} {name}")
    return found


@pytest.mark.parametrize(("path", "command"), walk(commands, "smoothdp"))
def test_commands_are_documented(path: str, command: click.Command) -> None:
    reference = (ROOT / "docs/reference/cli.md").read_text()
    assert f"`{path}`" in reference
    assert command.help
    assert re.search(r"Examples?:", command.help)
    assert path in command.help


def test_the_table_of_the_readme_is_that_of_the_tutorial() -> None:
    """Every row of it is one that the tutorial's examples print."""
    row = re.compile(r"^ *\w+ .*\d\.\d +\d+$", flags=re.MULTILINE)
    shown = row.findall((ROOT / "README.md").read_text())
    printed = row.findall((ROOT / "docs/tutorials/table.md").read_text())
    assert len(shown) >= 4
    assert set(shown) <= set(printed)


def test_no_folder_is_an_option_that_was_taken_for_a_path() -> None:
    assert not [path for path in tracked() if path.relative_to(ROOT).parts[0].startswith("-")]
