"""No circle among the files, and no crowded folder: imports inside functions are counted.

import-linter holds the rooms' order; this holds what is inside the rooms.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

SRC = Path(__file__).parents[2] / "src"
MOST_ENTRIES = 15


def modules(src: Path) -> dict[str, Path]:
    """Return every file below a source folder by its dotted name."""
    names = {}
    for path in sorted(src.rglob("*.py")):
        parts = path.relative_to(src).with_suffix("").parts
        names[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return names


def imported(path: Path, known: dict[str, Path]) -> Iterator[str]:
    """Yield the files of the package that a file imports: anywhere in it, for typing as well."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in known)
        elif isinstance(node, ast.ImportFrom) and node.module in known:
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                yield inner if inner in known else str(node.module)


@cache
def graph(src: Path) -> dict[str, set[str]]:
    known = modules(src)
    return {name: set(imported(path, known)) - {name} for name, path in known.items()}


def circles(edges: dict[str, set[str]]) -> list[list[str]]:
    """Return the strongly connected parts of more than one file (Tarjan, without recursion)."""
    order: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    on_stack: set[str] = set()
    result = []
    for start in edges:
        if start in order:
            continue
        walk = [(start, iter(sorted(edges[start])))]
        order[start] = low[start] = len(order)
        stack.append(start)
        on_stack.add(start)
        while walk:
            name, rest = walk[-1]
            for other in rest:
                if other not in order:
                    order[other] = low[other] = len(order)
                    stack.append(other)
                    on_stack.add(other)
                    walk.append((other, iter(sorted(edges[other]))))
                    break
                if other in on_stack:
                    low[name] = min(low[name], order[other])
            else:
                walk.pop()
                if walk:
                    low[walk[-1][0]] = min(low[walk[-1][0]], low[name])
                if low[name] == order[name]:
                    part: list[str] = []
                    while not part or part[-1] != name:
                        part.append(stack.pop())
                        on_stack.discard(part[-1])
                    if len(part) > 1:
                        result.append(sorted(part))
    return result


def test_no_circle_among_files() -> None:
    assert circles(graph(SRC)) == []


@pytest.mark.parametrize("how", ["import smoothdp.b", "def f():\n    from smoothdp import b"])
def test_a_circle_is_found(tmp_path: Path, how: str) -> None:
    package = tmp_path / "smoothdp"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "a.py").write_text(how)
    (package / "b.py").write_text("from smoothdp.c import x")
    (package / "c.py").write_text("if TYPE_CHECKING:\n    from smoothdp.a import y")
    assert circles(graph(tmp_path)) == [["smoothdp.a", "smoothdp.b", "smoothdp.c"]]


def test_only_the_command_line_imports_the_root() -> None:
    roots = [
        name
        for name, others in graph(SRC).items()
        if "smoothdp" in others and not name.startswith("smoothdp.cli")
    ]
    assert roots == []


def crowded(src: Path) -> dict[str, int]:
    """Return the folders below the root with more entries than a reader takes in."""
    folders = {path.parent for path in src.rglob("*.py")} - {src / "smoothdp"}
    counts = {
        str(folder.relative_to(src)): sum(
            1 for entry in folder.iterdir() if not entry.name.startswith("__")
        )
        for folder in folders
    }
    return {name: count for name, count in counts.items() if count > MOST_ENTRIES}


def test_no_folder_is_crowded() -> None:
    assert crowded(SRC) == {}
