"""The proofs: citations resolve, statements name code and tests that exist, formulas parse."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

import pytest
from docs_site.formulas import put_back, taken_out

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PROOFS = sorted(page for page in (DOCS / "proofs").glob("*.md") if page.stem != "index")
STATUSES = {"proved", "checked, not proved", "false"}
CITATION = re.compile(r"proofs/([a-z-]+)(?:\.md)?#(\d+)((?:,\s+(?:#\s+)?#\d+)*)")
UNTIL = {
    "src": 0,
    "tests": 0,
    "docs": 0,
}
"""Citations of notes that are not in the repository, by folder: pages of their own replace them,
and these numbers only fall."""
NOTES = re.compile(
    r"\bnotes:? (?:[A-Z]\d|C\(|\w+\.md)|\bthe notes\b|project's notes|DECISIONS\.md", re.IGNORECASE
)


class Statement(NamedTuple):
    """One numbered statement of a page: its number and all of its text."""

    page: str
    number: int
    text: str

    def named(self, field: str) -> list[tuple[str, str]]:
        """Return (file, name) of what stands below **Code.** or **Tests.**"""
        line = re.search(rf"^\*\*{field}\.\*\* ((?:.+\n)+)", self.text, re.MULTILINE)
        assert line is not None, f"{self.page}#{self.number} has no {field}"
        return re.findall(r"`([\w/]+\.py)::(\w+)`", line[1])


def statements() -> list[Statement]:
    """Return every statement of every page."""
    every = []
    for page in PROOFS:
        text = page.read_text(encoding="utf-8")
        heads = list(re.finditer(r"^## (\d+)\. .*\{#(\d+)\}$", text, re.MULTILINE))
        ends = [head.start() for head in heads[1:]] + [len(text)]
        for place, (head, end) in enumerate(zip(heads, ends, strict=True), 1):
            assert head[1] == head[2] == str(place), f"{page.name}: {head[0]}"
            every.append(Statement(page.stem, place, text[head.start() : end] + "\n"))
    return every


STATEMENTS = statements()
KNOWN = {(one.page, one.number) for one in STATEMENTS}


@cache
def read(path: Path) -> str:
    """Return the text of a file, which several tests look at."""
    return path.read_text(encoding="utf-8")


@cache
def texts() -> list[Path]:
    """Return all that may cite a proof."""
    files = [p for room in ("src", "tests") for p in (ROOT / room).rglob("*.py")]
    files += [*(ROOT / "src").rglob("*.toml"), *DOCS.rglob("*.md"), ROOT / "README.md"]
    return [path for path in files if path != Path(__file__)]


def cited(text: str) -> list[tuple[str, int]]:
    """Return (page, number) of each citation; one page may be followed by several numbers.

    >>> cited("(proofs/two-smallest#6, #7)")
    [('two-smallest', 6), ('two-smallest', 7)]
    """
    found = []
    for page, first, others in CITATION.findall(text):
        found += [(page, int(number)) for number in (first, *re.findall(r"#(\d+)", others))]
    return found


def test_there_are_statements() -> None:
    assert len(STATEMENTS) >= 9
    assert {one.page for one in STATEMENTS} == {page.stem for page in PROOFS}


def test_citations_resolve() -> None:
    seen = 0
    for path in texts():
        text = read(path)
        found = cited(text)
        assert len(re.findall(r"proofs/[a-z-]+#", text)) <= len(found)
        assert set(found) <= KNOWN, f"{path}: {sorted(set(found) - KNOWN)}"
        seen += len(found)
    assert seen > 25


def test_a_citation_that_leads_nowhere_is_noticed() -> None:
    assert cited("see (proofs/two-smallest#3, #99)") == [("two-smallest", 3), ("two-smallest", 99)]
    assert ("two-smallest", 99) not in KNOWN


@pytest.mark.parametrize("page", PROOFS, ids=lambda page: page.stem)
def test_links_inside_a_page_resolve(page: Path) -> None:
    for number in re.findall(r"\]\(#(\d+)\)", page.read_text(encoding="utf-8")):
        assert (page.stem, int(number)) in KNOWN, number


def test_statements_are_whole() -> None:
    for one in STATEMENTS:
        where = f"{one.page}#{one.number}"
        status = re.search(r"^\*\*Status\.\*\* (.*)$", one.text, re.MULTILINE)
        assert status is not None, where
        assert status[1] in STATUSES, where
        assert "**Statement.**" in one.text, where
        if status[1] == "proved":
            assert re.search(r"\*\*Proof\.\*\*(?s:.*)\\square\$", one.text), where


@cache
def defined(file: str) -> frozenset[str]:
    """Return the functions and classes of a file, and the names that a line begins with."""
    text = read(ROOT / file)
    inner = re.findall(r"^\s*(?:def|class) (\w+)", text, re.MULTILINE)
    return frozenset([*inner, *re.findall(r"^(\w+)\b.*=", text, re.MULTILINE)])


def test_the_code_of_each_exists_and_cites_the_page() -> None:
    for one in STATEMENTS:
        named = one.named("Code")
        assert named, one.page
        for file, name in named:
            path = ROOT / "src/smoothdp" / file
            assert path.is_file(), file
            assert name in defined(f"src/smoothdp/{file}"), f"{file}::{name}"
            cites = {page for page, _ in cited(read(path))}
            assert one.page in cites, f"{file} does not cite {one.page}"


def test_the_tests_of_each_exist() -> None:
    for one in STATEMENTS:
        named = one.named("Tests")
        assert named, one.page
        for file, name in named:
            assert name.startswith("test_")
            assert name in functions(file), f"{file}::{name}"


@cache
def functions(file: str) -> frozenset[str]:
    """Return the functions of a file, methods too."""
    return frozenset(re.findall(r"^ *def (\w+)\(", read(ROOT / file), re.MULTILINE))


@pytest.mark.parametrize("folder", UNTIL)
def test_notes_are_cited_less_and_less(folder: str) -> None:
    """If there are fewer than the number above, lower it."""
    cites = 0
    for path in texts():
        if path.is_relative_to(ROOT / folder):
            cites += len(NOTES.findall(read(path)))
    assert cites <= UNTIL[folder]


PAGES = [*sorted(DOCS.rglob("*.md"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(DOCS)))
def test_formulas_are_typeset(page: Path) -> None:
    """Every $...$ becomes MathML that parses and has nothing of LaTeX left."""
    text, formulas = taken_out(page.read_text(encoding="utf-8"))
    plain = re.sub(r"^( *)```.*?^\1```$|`[^`]+`", "", text, flags=re.DOTALL | re.MULTILINE)
    assert "$" not in plain, plain[plain.index("$") - 60 :][:120]
    assert not re.search(r"^#.*formula\d+stands", text, re.MULTILINE), "a formula in a heading"
    if not formulas:
        return
    pytest.importorskip("latex2mathml")
    for formula in formulas:
        assert "\n\n" not in formula.latex
        tree = ElementTree.fromstring(formula.mathml())
        shown = "".join(tree.itertext())
        assert shown.strip()
        assert not re.search(r"[\\&^_]", shown), shown
    assert "stands" not in put_back(" ".join(re.findall(r"formula\d+stands", text)), formulas)


def test_code_is_no_formula() -> None:
    source = "`$HOME` costs $a_1$ and\n\n```\n$ smoothdp $x$\n```\n"
    text, formulas = taken_out(source)
    assert [formula.latex for formula in formulas] == ["a_1"]
    assert text == source.replace("$a_1$", "formula0stands")
