"""What became of every claim of the papers: rows of ``claims/*.toml``, and their page.

The rows are kept once, in those files. `verdicts_page` is docs/papers.md, word for word; write
the page anew with ``smoothdp papers verdicts --markdown > docs/papers.md``.
"""

from __future__ import annotations

import re
import textwrap
import tomllib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from smoothdp.errors import InvalidParameter

_FILES = ("paper-1", "paper-2", "paper-3", "paper-4", "paper-5", "composition")
STATUSES = {
    "holds": "true as stated, or with what the verdict adds",
    "loose": "true, and the verdict says by how much it could be better",
    "false": "with the counterexample that the test asserts, and what is true instead if known",
    "corrected": "wrong or unclear as printed; the verdict states what is meant or true",
    "implemented": "a definition or an algorithm, built",
    "recomputed": "a figure, a table or an experiment, recomputed",
    "proved": "in no paper: proved here, and attacked",
    "not checked": "what could be and is not; the verdict says why",
}
"""The kinds of verdict, and what each means."""

_INTRODUCTION = """\
# The papers, claim by claim

Each numbered claim with the file that implements it, the test that shows it, and a verdict.
`smoothdp papers verdicts` prints the same rows, each with its status:

{statuses}

This page is written by `smoothdp papers verdicts --markdown > docs/papers.md` from
`src/smoothdp/papers/claims/`: change a row in those files. A test name that ends in `*` stands for
all tests that begin so.
"""


@dataclass(frozen=True, slots=True)
class Verdict:
    """One claim.

    Attributes:
        paper: 1 to 5, or 0 where it is in no paper or in several.
        section: of the page.
        claim: its number and its statement.
        where: what implements it, in Markdown; "-" if nothing does.
        tests: "path" or "path::name", where a name may end in ``*``; none for misprints and
            words.
        status: a key of `STATUSES`.
        verdict: in Markdown.
    """

    paper: int
    section: str
    claim: str
    where: str
    tests: tuple[str, ...]
    status: str
    verdict: str

    def to_dict(self) -> dict[str, object]:
        """Return everything for JSON."""
        return {
            "paper": self.paper or None,
            "section": self.section,
            "claim": self.claim,
            "where": self.where,
            "tests": list(self.tests),
            "status": self.status,
            "verdict": self.verdict,
        }

    def text(self) -> str:
        """Return the row as an indented paragraph of plain text."""
        lines = [f"{f'[{self.status}]':<15}{_plain(self.claim)}", _plain(self.verdict), *self.tests]
        first, *others = (
            textwrap.fill(
                line,
                100,
                initial_indent="" if position == 0 else " " * 15,
                subsequent_indent=" " * 15,
                break_long_words=False,
                break_on_hyphens=False,
            )
            for position, line in enumerate(lines)
        )
        return "\n".join([first, *others])


def verdicts(paper: int | None = None, *, status: str | None = None) -> list[Verdict]:
    """Return all rows, or those of one paper or one status.

    Raises:
        InvalidParameter: a paper other than 1 to 5, or a status that is not in `STATUSES`.

    >>> row = next(row for row in verdicts(1, status="false") if row.claim.startswith("Lemma 2"))
    >>> row.tests
    ('tests/theorems/test_paper1_smoothed_dp.py::test_lemma_2_*',)
    """
    if paper is not None and paper not in range(1, 6):
        raise InvalidParameter(
            expected="a paper from 1 to 5",
            got=f"{paper!r}",
            remedy="Leave paper out for all papers",
        )
    if status is not None and status not in STATUSES:
        raise InvalidParameter(
            expected=f"a status among {', '.join(STATUSES)}",
            got=f"{status!r}",
            remedy="Leave status out for all statuses",
        )
    return [
        row
        for page in _pages()
        for _, _, rows in _sections(page)
        for row in rows
        if paper in (None, row.paper) and status in (None, row.status)
    ]


def verdicts_text(rows: Sequence[Verdict]) -> str:
    """Return rows as text for a terminal, and how many there are of each status.

    >>> print(verdicts_text(verdicts(5, status="false")).splitlines()[-1])
    4 claims: 4 false
    """
    titles = {page["paper"]: _plain(page["title"]) for page in _pages()}
    paragraphs, shown = [], None
    for row in rows:
        if row.paper != shown:
            shown = row.paper
            paragraphs.append(titles[row.paper] + "\n" + "=" * len(titles[row.paper]))
        paragraphs.append(row.text())
    counts = Counter(row.status for row in rows)
    summary = ", ".join(f"{counts[s]} {s}" for s in STATUSES if counts[s])
    return "\n\n".join([*paragraphs, f"{len(rows)} claims: {summary or 'none'}"])


def verdicts_page() -> str:
    """Return docs/papers.md.

    >>> verdicts_page().splitlines()[0]
    '# The papers, claim by claim'
    """
    statuses = "\n".join(f"- *{status}*: {meaning}" for status, meaning in STATUSES.items())
    paragraphs = [_INTRODUCTION.format(statuses=statuses)]
    for page in _pages():
        short = page.get("tests", {})
        names = ", ".join(f"`[{key}]` is `{path}`" for key, path in short.items())
        text = " ".join(filter(None, (page["text"], f"{names}." if names else "")))
        filled = f"\n{textwrap.fill(text, 110)}\n" if text else ""
        paragraphs.append(f"## {page['title']}\n{filled}")
        for heading, words, rows in _sections(page):
            lines = [f"### {heading}\n"] if heading else []
            lines += [f"{words}\n"] if words else []
            lines += ["| claim | where | test | verdict |", "|---|---|---|---|"]
            for row in rows:
                tests = ", ".join(f"`{_abbreviated(test, short)}`" for test in row.tests) or "-"
                lines.append(f"| {row.claim} | {row.where} | {tests} | {row.verdict} |")
            paragraphs.append("\n".join(lines) + "\n")
    return "\n".join(paragraphs)


@cache
def _pages() -> tuple[dict[str, Any], ...]:
    folder = files("smoothdp.papers").joinpath("claims")
    return tuple(
        tomllib.loads(folder.joinpath(f"{name}.toml").read_text(encoding="utf-8"))
        for name in _FILES
    )


def _sections(page: dict[str, Any]) -> list[tuple[str, str, list[Verdict]]]:
    """Return heading, words and rows of every section."""
    short = page.get("tests", {})
    return [
        (
            section["heading"],
            section.get("text", ""),
            [
                Verdict(
                    paper=page["paper"],
                    section=section["heading"],
                    claim=row["claim"],
                    where=row["where"],
                    tests=tuple(_expanded(test, short) for test in row["tests"]),
                    status=row["status"],
                    verdict=row["verdict"],
                )
                for row in section["claims"]
            ],
        )
        for section in page["sections"]
    ]


def _expanded(test: str, short: dict[str, str]) -> str:
    """Return "path::name" of "[key] name"."""
    match = re.fullmatch(r"\[(\w+)\](?: (.+))?", test)
    if match is None:
        return test
    name = match.group(2)
    return short[match.group(1)] + (f"::{name}" if name else "")


def _abbreviated(test: str, short: dict[str, str]) -> str:
    path, _, name = test.partition("::")
    for key, full in short.items():
        if path == full:
            return f"[{key}] {name}".strip()
    return test


def _plain(text: str) -> str:
    """Return Markdown without its marks."""
    return re.sub(r"(?<!\w)\*(\w[^*]*\w)\*", r"\1", re.sub(r"\*\*|`", "", text))
