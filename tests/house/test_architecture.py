"""docs/architecture.md says what stands: each room in one line, each file that it names."""

from __future__ import annotations

import ast
import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src/smoothdp"
PAGE = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| (\d+) \| `([\w/.]+)` \| (.+) \|$", PAGE, flags=re.MULTILINE)
SHELVES = sorted(
    path for path in PACKAGE.rglob("__init__.py") if len(path.relative_to(PACKAGE).parts) > 2
)


def test_every_room_has_one_line() -> None:
    rooms = [f"{path.parent.name}/" for path in PACKAGE.glob("*/__init__.py")]
    files = [path.name for path in PACKAGE.glob("*.py") if path.name != "__init__.py"]
    assert sorted(name for _, name, _ in ROWS) == sorted(rooms + files)
    for _, name, content in ROWS:
        assert 10 <= len(content) <= 140, name


def test_the_floors_are_those_that_are_checked() -> None:
    """Going down the page never goes up in import-linter's layers."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    (layers,) = (c["layers"] for c in contracts["contracts"] if c.get("containers") == ["smoothdp"])
    floor_of = {
        name.strip("() "): floor for floor, line in enumerate(layers) for name in line.split("|")
    }
    order = [floor_of[name.removesuffix("/").removesuffix(".py")] for _, name, _ in ROWS]
    assert order == sorted(order)
    numbers = [int(floor) for floor, _, _ in ROWS]
    assert numbers == sorted(numbers, reverse=True)


@pytest.mark.parametrize(
    "name", sorted(set(re.findall(r"`((?:[a-z_]+/)+(?:[\w.]+)?)`", PAGE))), ids=str
)
def test_what_it_names_is_there(name: str) -> None:
    roots = (PACKAGE, PACKAGE.parent.parent)
    assert any((root / name).exists() for root in roots), name


@pytest.mark.parametrize("path", SHELVES, ids=lambda p: str(p.parent.relative_to(PACKAGE)))
def test_a_shelf_says_what_is_in_it(path: Path) -> None:
    """One sentence; only rooms, and two shelves with faces of their own, export names."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    words = ast.get_docstring(tree)
    assert words
    assert len(words.split()) >= 4
    if str(path.parent.relative_to(PACKAGE)) not in ("noise/calibration", "report/html"):
        assert len(tree.body) == 1
