"""Which tests a file has: ``make tests-of FILE=src/smoothdp/...``, read from the sources alone.

Nothing is imported: the syntax trees say which test uses a name that the file defines, whatever
the path on which the name came (``sd.queries.Median``, ``from smoothdp.queries import Median``, a
helper among the tests). A file that is not Python has the tests that name it.
"""

from __future__ import annotations

import argparse
import ast
import gc
import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache, cached_property
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]


class Found(NamedTuple):
    """A file of tests, and why it is one of a file's.

    Attributes:
        path: below the root of the repository.
        is_named_after: True for test_median.py of median.py.
        uses: how often it uses a name of the file.
        helper: the file among the tests through which it does, or "".
        has_slow: True if some of its tests are marked slow.
    """

    path: str
    is_named_after: bool
    uses: int
    helper: str
    has_slow: bool


class Module:
    """A file of Python: what it imports, and how often it uses which dotted name."""

    def __init__(self, path: Path, name: str, tree: ast.Module) -> None:
        self.path, self.name = path, name
        package = path.name == "__init__.py"
        self.exports: dict[str, str] = {}
        self.stars: list[str] = []
        self.whole: list[str] = []
        # One walk for imports and names: the trees are large.
        self._names: list[ast.Name | ast.Attribute] = []
        for node in ast.walk(tree):
            if isinstance(node, ast.Name | ast.Attribute):
                self._names.append(node)
            elif isinstance(node, ast.ImportFrom):
                above = name.split(".")[: None if package else -1]
                above = above[: len(above) + 1 - node.level] if node.level else []
                origin = ".".join([*above, *([node.module] if node.module else [])])
                for alias in node.names:
                    if alias.name == "*":
                        self.stars.append(origin)
                    else:
                        self.exports[alias.asname or alias.name] = f"{origin}.{alias.name}"
            elif isinstance(node, ast.Import):
                for alias in node.names:
                    first = alias.name if alias.asname else alias.name.split(".")[0]
                    self.exports[alias.asname or first] = first
                    self.whole.append(alias.name)

    @cached_property
    def uses(self) -> Counter[str]:
        """The dotted names that stand here, by how often, an import being one use."""
        found = Counter({*self.exports.values(), *self.stars, *self.whole})
        inner: set[int] = set()
        for node in self._names:
            if id(node) in inner:
                continue
            chain: list[str] = []
            part: ast.expr = node
            while isinstance(part, ast.Attribute):
                inner.add(id(part.value))
                chain.insert(0, part.attr)
                part = part.value
            if isinstance(part, ast.Name) and part.id in self.exports:
                found[".".join([self.exports[part.id], *chain])] += 1
        return found

    @cached_property
    def has_slow(self) -> bool:
        """Whether something is marked slow here."""
        return any(
            isinstance(node, ast.Attribute)
            and node.attr == "slow"
            and isinstance(node.value, ast.Attribute)
            and node.value.attr == "mark"
            for node in self._names
        )


@contextmanager
def no_garbage() -> Iterator[None]:
    """Look for no garbage: looking goes through all trees again and again, longer than reading."""
    looked = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if looked:
            gc.enable()


class Tree:
    """The modules of a repository, and where a dotted name is defined."""

    @no_garbage()
    def __init__(self, root: Path = ROOT) -> None:
        self.root = root
        self.modules: dict[str, Module] = {}
        self._homes: dict[str, str | None] = {}
        for top, below in ((root / "src", root / "src"), (root / "tests", root)):
            for path in sorted(top.rglob("*.py")):
                parts = path.relative_to(below).with_suffix("").parts
                name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
                # Types are strict: of the library, only a package hands on names of other files.
                read = top.name == "tests" or path.name == "__init__.py"
                text = path.read_text(encoding="utf-8") if read else ""
                self.modules[name] = Module(path, name, ast.parse(text))

    def home(self, dotted: str) -> str | None:
        """Return the module that defines a dotted name, through any number of re-exports."""
        if dotted not in self._homes:
            self._homes[dotted] = self._home(dotted, frozenset())
        return self._homes[dotted]

    def _home(self, dotted: str, seen: frozenset[str]) -> str | None:
        if dotted in seen:
            return None
        if dotted in self.modules:
            return dotted
        parts = dotted.split(".")
        for cut in range(len(parts) - 1, 0, -1):
            module = self.modules.get(".".join(parts[:cut]))
            if module is None:
                continue
            origins = [module.exports.get(parts[cut])] if parts[cut] in module.exports else []
            origins += [f"{star}.{parts[cut]}" for star in module.stars if star in self.modules]
            for origin in origins:
                whole = ".".join([str(origin), *parts[cut + 1 :]])
                found = self._home(whole, seen | {dotted})
                if found is not None:
                    return found
            return module.name
        return None

    def tests(self) -> Iterator[Module]:
        """Yield the modules that hold tests."""
        return (m for m in self.modules.values() if m.path.name.startswith("test_"))

    def tests_of(self, path: Path) -> list[Found]:
        """Return the files of tests of a file, the nearest first."""
        path = path.resolve()
        target = next((m for m in self.modules.values() if m.path == path), None)
        mentions = {} if target else self._mentions(path)
        found = []
        for test in self.tests():
            uses, helper = self._uses(test, target) if target else (mentions[test.name], "")
            uses += self._runs(test, path)
            after = test.path.stem.startswith(f"test_{self._subject(path)}")
            if uses or after or test is target:
                shown = str(test.path.relative_to(self.root))
                found.append(Found(shown, after, uses, helper, test.has_slow))
        return sorted(found, key=lambda f: (not f.is_named_after, bool(f.helper), -f.uses, f.path))

    @staticmethod
    def _subject(path: Path) -> str:
        """Return what the tests of a file are named after; those of a command say so."""
        return f"commands_{path.stem}" if path.parent.name == "cli" else path.stem

    @staticmethod
    def _runs(test: Module, path: Path) -> int:
        """Return how often a test runs the command of a file of `cli/`: by its first word."""
        if path.parent.name != "cli":
            return 0
        word = path.stem.replace("_", " ").split(" ")[0]
        text = test.path.read_text(encoding="utf-8")
        return len(re.findall(rf'\((?:\w+, )*\[?"{word}"[,\])]', text))

    def _uses(self, test: Module, target: Module) -> tuple[int, str]:
        helpers = []
        count = 0
        for dotted, times in test.uses.items():
            home = self.home(dotted)
            if home == target.name:
                count += times
            elif home is not None and home.startswith("tests."):
                helpers.append(self.modules[home])
        for helper in () if count else helpers:
            times = sum(n for name, n in helper.uses.items() if self.home(name) == target.name)
            if times and helper is not test:
                return times, str(helper.path.relative_to(self.root))
        return count, ""

    def _mentions(self, path: Path) -> dict[str, int]:
        """Return how often each test names a file; if none does, its outermost folder."""
        texts = {test.name: test.path.read_text(encoding="utf-8") for test in self.tests()}
        inside = path.relative_to(self.root).parts if path.is_relative_to(self.root) else ()
        for words in (path.name, f'"{inside[0]}"' if inside else path.name):
            counts = {name: text.count(words) for name, text in texts.items()}
            if any(counts.values()):
                break
        return counts


def report(path: str, found: Sequence[Found], *, most: int = 15) -> str:
    """Return the list as text, with the command that runs the nearest of them."""
    if not found:
        return (
            f"No test uses {path} by name. tests/house reads every file; the suites of\n"
            "tests/conformance walk over all public names: tests/README.md says which."
        )
    lines = [f"{len(found)} file{'s' * (len(found) > 1)} of tests for {path}, the nearest first:"]
    for one in found[:most]:
        how = f"{one.uses} use{'s' * (one.uses > 1)}" if one.uses else "by its name"
        how += f", through {one.helper}" if one.helper else ""
        lines.append(f"  {one.path}  ({how}{', some of it slow' if one.has_slow else ''})")
    if len(found) > most:
        lines.append(f"  and {len(found) - most} more: all with ALL=1")
    near = [one.path for one in found if one.is_named_after] or [one.path for one in found[:3]]
    lines += ["Run the nearest:", f"  .venv/bin/python -m pytest -q {' '.join(near)}"]
    return "\n".join(lines)


@cache
def the_tree() -> Tree:
    """Return the modules of this repository, which takes a second or two to read."""
    return Tree()


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the tests of a file."""
    parser = argparse.ArgumentParser(prog="make tests-of")
    parser.add_argument("file", nargs="?", default="", help="a file of the repository")
    parser.add_argument("--all", action="store_true", help="show all, not the nearest fifteen")
    given = parser.parse_args(arguments)
    path = Path(given.file)
    if not given.file or not path.is_file():
        print(f"Expected a file; got {given.file or 'none'}. Run: make tests-of FILE=src/...")
        return 2
    found = the_tree().tests_of(path)
    print(report(given.file, found, most=len(found) if given.all else 15))
    return 0


if __name__ == "__main__":
    sys.exit(main())
