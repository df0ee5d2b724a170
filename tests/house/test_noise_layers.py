"""A law owns its facts: inside `noise/` imports go downwards, and only a law's file names it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from smoothdp import noise

ROOT = Path(__file__).resolve().parents[2] / "src" / "smoothdp"
FILES = sorted((ROOT / "noise").rglob("*.py"))
LAWS = {
    name: getattr(noise, name).__module__
    for name in noise.__all__
    if getattr(getattr(noise, name), "source", None) is not None
}
LAYERS = ("divergences", "abstract_law", "calibration", "law", "laws")


def module_of(path: Path) -> str:
    """Return the dotted name of a file."""
    parts = path.relative_to(ROOT.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_of(path): path for path in FILES}


def imported(tree: ast.AST) -> Iterator[str]:
    """Yield the modules of noise that a file imports: at the top, in functions and for typing."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names if name.name in MODULES)
        elif isinstance(node, ast.ImportFrom) and node.module:
            for name in node.names:
                inner = f"{node.module}.{name.name}"
                if inner in MODULES or node.module in MODULES:
                    yield inner if inner in MODULES else node.module


GRAPH = {name: set(imported(ast.parse(path.read_text()))) for name, path in MODULES.items()}


def layer(module: str) -> int | None:
    """Return the place of a module among the layers, None for what lies below all or above."""
    part = module.split(".")[2] if module.count(".") >= 2 else ""
    return LAYERS.index(part) if part in LAYERS else None


def test_all_laws_are_looked_for() -> None:
    assert len(LAWS) >= 9
    # Laws of one number, and of several that are drawn together.
    places = "smoothdp.noise.laws.", "smoothdp.noise.joint."
    assert all(module.startswith(places) for module in LAWS.values())


def test_no_circle() -> None:
    try:
        TopologicalSorter(GRAPH).prepare()
    except CycleError as error:
        pytest.fail(" -> ".join(error.args[1]))


def test_a_circle_is_noticed() -> None:
    closed = {**GRAPH, "smoothdp.noise.shift_claim": {"smoothdp.noise.laws.laplace"}}
    with pytest.raises(CycleError):
        TopologicalSorter(closed).prepare()


@pytest.mark.parametrize("name", sorted(GRAPH))
def test_imports_go_down(name: str) -> None:
    own = layer(name)
    if own is not None:
        assert all((layer(other) or 0) <= own for other in GRAPH[name])


@pytest.mark.parametrize("path", FILES, ids=lambda path: module_of(path))
def test_only_the_file_of_a_law_names_it(path: Path) -> None:
    if path == ROOT / "noise" / "__init__.py":
        return
    module = module_of(path)
    for node in ast.walk(ast.parse(path.read_text())):
        names = [node.id] if isinstance(node, ast.Name) else []
        if isinstance(node, ast.ImportFrom):
            names = [name.name for name in node.names]
        for name in names:
            assert LAWS.get(name, module) == module, f"{module} names {name}"
