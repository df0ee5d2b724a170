"""The version is written once, and everybody says it: the package, a release, the command."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import smoothdp as sd
from smoothdp.claims.release import library_version

ROOT = Path(__file__).parents[2]


def test_everybody_says_the_same_version() -> None:
    code = "from smoothdp.cli import main; main()"
    told = subprocess.run(
        [sys.executable, "-c", code, "--version"], capture_output=True, text=True, check=True
    ).stdout
    assert told.split()[-1] == sd.__version__ == library_version()


def test_the_build_reads_it_where_it_is_written() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert "version" not in settings["project"]
    assert settings["project"]["dynamic"] == ["version"]
    text = (ROOT / settings["tool"]["hatch"]["version"]["path"]).read_text()
    assert re.findall(r'^__version__ = "(.*)"$', text, re.MULTILINE) == [sd.__version__]


def test_it_is_not_written_a_second_time() -> None:
    """A copy would be forgotten at a release: the changelog alone names versions, and all."""
    named = re.compile(r"""^["']?version["']?\s*[:=]\s*["']?\d""", re.MULTILINE)
    for name in ("CITATION.cff", "browser/package.json", "pyproject.toml"):
        lines = (ROOT / name).read_text().replace("cff-version", "format")
        assert not named.search(re.sub(r"^ +", "", lines, flags=re.MULTILINE)), name


def test_the_changelog_begins_with_it() -> None:
    """Its first heading is the version that is being made, or was just made."""
    first = re.search(r"^## (.*)$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert first is not None
    next_version = re.sub(r"\.dev\d+$", "", sd.__version__)
    if ".dev" in sd.__version__:
        assert first[1] == f"{next_version} (unreleased)"
    else:
        assert re.fullmatch(re.escape(sd.__version__) + r" \(\d{4}-\d\d-\d\d\)", first[1])
