"""The tests that docs/papers.md and the proofs name, as pages of the site, and links to them.

One page per test file: what it says of itself and every test that a row or a proof names, as they
stand in the file. The pages themselves have names only, so that they can be read without the site.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from smoothdp.papers.verdicts import verdicts

ROOT = Path(__file__).parents[1]
PROOFS = ROOT / "docs/proofs"
_SHORT = re.compile(r"`\[(\w+)\]`\s+is\s+`([\w/]+\.py)`")
_CELL = re.compile(r"`(?:\[(\w+)\] (test_[\w*]+)|(tests/[\w/]+\.py)::(test_[\w*]+))`")
_NAME = re.compile(r"`(tests/[\w/]+\.py)::(test_\w+)`")


def pages() -> dict[str, str]:
    """Return the address of every page, from the root of the site, and its Markdown."""
    return {
        address(path): _page(path, names)
        for path, names in _named().items()
        if path.startswith("tests/")
    }


def address(path: str) -> str:
    """Return where the page of a test file is.

    >>> address("tests/theorems/test_paper1_bounds.py")
    'tests/theorems/test_paper1_bounds.md'
    """
    return path.removesuffix(".py") + ".md"


def linked(markdown: str) -> str:
    """Return the page of the papers with each name of a test as a link to its source."""
    parts = []
    for part in re.split(r"(?m)^(?=## )", markdown):
        short = dict(_SHORT.findall(part))
        parts.append("".join(_linked_lines(part, short)))
    return "".join(parts)


def proof_linked(markdown: str) -> str:
    """Return a page of docs/proofs with each name of a test as a link to its source."""

    def link(found: re.Match[str]) -> str:
        (name,) = matching(found[1], found[2])
        return f"[{found[0]}](../{address(found[1])}#{name})"

    return _NAME.sub(link, markdown)


def _linked_lines(part: str, short: dict[str, str]) -> Iterator[str]:
    def link(found: re.Match[str]) -> str:
        path, name = found[3] or short[found[1]], found[2] or found[4]
        return f"[{found[0]}]({address(path)}#{matching(path, name)[0]})"

    for line in part.splitlines(keepends=True):
        yield _CELL.sub(link, line) if line.startswith("| ") else line


def matching(path: str, name: str) -> list[str]:
    """Return the tests of a file that a name stands for; it may end in ``*``."""
    pattern = re.escape(name).replace(r"\*", ".*")
    found = [test for test in _sources(path) if re.fullmatch(pattern, test)]
    if not found:
        raise LookupError(f"{path} has no {name}")
    return found


def _named() -> dict[str, set[str]]:
    """Return, for each file, the tests that rows and proofs name."""
    named: dict[str, set[str]] = {}
    for row in verdicts():
        for test in row.tests:
            path, _, name = test.partition("::")
            if path.startswith("tests/"):
                named.setdefault(path, set()).update(matching(path, name))
    for page in PROOFS.glob("*.md"):
        for path, name in _NAME.findall(page.read_text(encoding="utf-8")):
            named.setdefault(path, set()).update(matching(path, name))
    return named


@cache
def _sources(path: str) -> dict[str, str]:
    """Return the source of every test of a file, decorators included, in the order of the file."""
    text = (ROOT / path).read_text(encoding="utf-8")
    lines = text.splitlines()
    sources = {}
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
            first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
            kept = lines[first - 1 : node.end_lineno]
            sources[node.name] = "\n".join(line[node.col_offset :] for line in kept)
    return sources


def _page(path: str, names: set[str]) -> str:
    blocks = [
        f"## {name} {{#{name}}}\n\n````python\n{source}\n````\n"
        for name, source in _sources(path).items()
        if name in names
    ]
    head = f"---\nsearch:\n  exclude: true\n---\n\n# `{path}`\n\n"
    back = "../" * path.count("/")
    words = (
        f"The tests of this file that [the papers, claim by claim]({back}papers.md) or "
        f"[a proof]({back}proofs/index.md) names.\n\n"
    )
    about = ast.get_docstring(ast.parse((ROOT / path).read_text(encoding="utf-8"))) or ""
    return f"{head}{words}````text\n{about}\n````\n\n" + "\n".join(blocks)
