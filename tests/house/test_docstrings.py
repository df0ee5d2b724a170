"""Every public docstring: one summary line, what is raised, and an example that runs.

The examples themselves run as doctests (`make check`). A public name that lacks something
fails by name.
"""

from __future__ import annotations

import ast
import enum
import inspect
import re
import textwrap
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any

import pytest

import smoothdp as sd

ROOMS = (
    "claims",
    "composition",
    "data",
    "errors",
    "interop",
    "ledger",
    "mechanisms",
    "noise",
    "paper_bounds",
    "papers",
    "planning",
    "queries",
    "report",
    "services",
    "selection",
    "shuffle",
    "smoothed",
    "testing",
    "training_runs",
)

# Functions and methods by these names read and refuse arguments.
_READING = re.compile(r"(^|_)(read|exact|require|check|refuse)(_|$)")


def _public() -> dict[str, Any]:
    """Return every public class and function by its shortest path."""
    found = {name: getattr(sd, name) for name in sd.__all__ if name != "engines"}
    known = {id(value) for value in found.values()}
    for room in ROOMS:
        module = import_module(f"smoothdp.{room}")
        for name in module.__all__:
            value = getattr(module, name)
            if id(value) not in known:
                found[f"{room}.{name}"] = value
    return {name: value for name, value in found.items() if callable(value) and _is_named(value)}


def _is_named(value: Any) -> bool:
    return inspect.isclass(value) or inspect.isfunction(value)


PUBLIC = _public()


def _methods(kind: type) -> Iterator[tuple[str, Callable[..., Any]]]:
    """Yield the public methods and properties that a class itself defines."""
    for name, value in vars(kind).items():
        if name.startswith("_"):
            continue
        if isinstance(value, staticmethod | classmethod):
            value = value.__func__
        if isinstance(value, property):
            value = value.fget
        value = getattr(value, "func", value)
        if inspect.isfunction(value) and value.__module__ == kind.__module__:
            yield name, value


def _tree(function: Callable[..., Any]) -> ast.AST:
    return ast.parse(textwrap.dedent(inspect.getsource(inspect.unwrap(function))))


def _raises(function: Callable[..., Any]) -> bool:
    """Whether a function has a raise statement of its own (an outcome, not a broken promise)."""
    return any(
        isinstance(node, ast.Raise) and _raised(node) not in {"AssertionError", "AttributeError"}
        for node in ast.walk(_tree(function))
    )


def _raised(node: ast.Raise) -> str:
    error = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
    return error.id if isinstance(error, ast.Name) else ""


def _reads(function: Callable[..., Any]) -> bool:
    """Whether a function calls one that reads and refuses arguments."""
    calls = (node.func for node in ast.walk(_tree(function)) if isinstance(node, ast.Call))
    names = (getattr(call, "attr", getattr(call, "id", "")) for call in calls)
    return any(_READING.search(name) for name in names)


def _makers(value: Any) -> list[Callable[..., Any]]:
    """Return what runs when a public name is called."""
    if inspect.isfunction(value):
        return [value]
    every = (getattr(value, name, None) for name in ("__init__", "__post_init__", "__new__"))
    return [f for f in every if inspect.isfunction(f) and f.__module__.startswith("smoothdp")]


def _has_source(function: Callable[..., Any]) -> bool:
    return not function.__code__.co_filename.startswith("<")


def _validates(value: Any) -> bool:
    makers = [f for f in _makers(value) if _has_source(f)]
    return any(_raises(f) or _reads(f) for f in makers)


def _has_behaviour(value: Any) -> bool:
    if inspect.isfunction(value):
        return True
    if value.__module__.startswith("smoothdp.papers") and hasattr(value, "to_dict"):
        return False  # A study of a paper takes seconds: the command line page shows how to run it.
    is_abstract = inspect.isabstract(value) or getattr(value, "_is_protocol", False)
    is_plain = issubclass(value, BaseException | enum.Enum)
    return not (is_abstract or is_plain)


def _lacks(value: Any) -> set[str]:
    doc = value.__doc__ or ""
    lacks = set()
    if not _is_summary(doc):
        lacks.add("summary")
    if _validates(value) and "raises" not in doc.lower():
        lacks.add("raises")
    if _has_behaviour(value) and ">>>" not in doc:
        lacks.add("example")
    if inspect.isclass(value):
        for method, function in _methods(value):
            text = function.__doc__ or _inherited(value, method)
            if not _is_summary(text):
                lacks.add(f"{method}: summary")
            if _has_source(function) and _raises(function) and "raise" not in text.lower():
                lacks.add(f"{method}: raises")
    return lacks


def _inherited(kind: type, method: str) -> str:
    for base in kind.__mro__[1:]:
        found = vars(base).get(method)
        if found is not None and getattr(found, "__doc__", None):
            return str(found.__doc__)
    return ""


def _is_summary(doc: str) -> bool:
    """Whether a docstring starts with one sentence that stands by itself."""
    first = inspect.cleandoc(doc).partition("\n\n")[0] if doc else ""
    return bool(first) and first[-1] in ".:" and len(first.splitlines()) <= 2


@pytest.mark.parametrize("name", sorted(PUBLIC))
def test_docstring_is_complete(name: str) -> None:
    missing = _lacks(PUBLIC[name])
    assert not missing, f"{name} lacks {sorted(missing)}"


def test_a_poor_docstring_fails() -> None:
    def silent(n: int) -> int:
        if n < 0:
            raise ValueError
        return n

    assert _lacks(silent) == {"summary", "raises", "example"}
