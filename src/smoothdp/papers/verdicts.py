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
from smoothdp.sources import reference

_FILES = ("paper-1", "paper-2", "paper-3", "paper-4", "paper-5", "own")
STATUSES = {
    "holds": "true as stated",
    "holds with a hypothesis": "true with what the verdict names, which the paper does not state",
    "misprint": "the verdict says what must be meant, and that is true",
    "loose": "true, and the verdict says by how much it could be better",
    "proof gap": "the proof fails; the verdict says whether the statement is unharmed or open",
    "false": "with a counterexample, and what is true instead if known",
    "implemented": "no claim: a definition or an algorithm, built",
    "recomputed": "no claim: a figure, a table or an experiment, recomputed",
    "not checked": "what could be and is not; the verdict says why",
    "proved": "in no paper: proved by this project, and attacked",
}
"""The kinds of verdict, and what each means."""

_INTRODUCTION = """\
# The papers, claim by claim

Each numbered claim with its status, the file that implements it, the test that shows it, and a
verdict. `smoothdp papers verdicts` prints the same rows. The statuses:

{statuses}

A statement is *false* only if no reading of its words, no convention of its paper and no plain
correction of a slip makes it true. A slip that the paper itself mends elsewhere, in the line
before, in its data or in its use, is a *misprint*; a condition that its own use grants is a
*hypothesis*.

How many of each, by paper:

{counts}

Where a claim is a link, a script of at most ten lines refutes what is printed:
`smoothdp papers verify paper-1/lemma-2` prints and runs it. Beside a status, *proof* leads to
where the claim is proved, or refuted, and *what holds* to what is proved in its place. This page
is written by `smoothdp papers verdicts --markdown > docs/papers.md` from
`src/smoothdp/papers/claims/`: change a row in those files. On the site the name of a test leads
to its source; one that ends in `*` stands for all tests that begin so.
"""


@dataclass(frozen=True, slots=True)
class Verdict:
    """One claim.

    Attributes:
        paper: 1 to 5, or 0 where it is in no paper.
        name: "paper-1/lemma-2", or "own/two-smallest".
        section: of the page.
        claim: its number and its statement.
        where: what implements it, in Markdown; "-" if nothing does.
        tests: "path" or "path::name", where a name may end in ``*``; none for words.
        status: a key of `STATUSES`.
        verdict: in Markdown.
        proof: page and statement in docs/ that prove it ("proofs/two-smallest.md#3"), or that it is
            false; or "".
        repair: page and statement that prove what holds in its place, if it is another; or "".
        counterexample: a program of at most ten lines that refutes it; or "".
    """

    paper: int
    name: str
    section: str
    claim: str
    where: str
    tests: tuple[str, ...]
    status: str
    verdict: str
    proof: str
    repair: str
    counterexample: str

    def to_dict(self) -> dict[str, object]:
        """Return everything for JSON."""
        return {
            "paper": self.paper or None,
            "name": self.name,
            "section": self.section,
            "claim": self.claim,
            "where": self.where,
            "tests": list(self.tests),
            "status": self.status,
            "verdict": self.verdict,
            "proof": self.proof or None,
            "repair": self.repair or None,
            "counterexample": self.counterexample or None,
        }

    def text(self) -> str:
        """Return the row as an indented paragraph of plain text."""
        lines = [_plain(self.claim), _plain(self.verdict), *self.tests]
        if self.counterexample:
            lines.append(f"Counterexample: smoothdp papers verify {self.name}")
        wrapped = (
            textwrap.fill(
                line,
                100,
                initial_indent="    ",
                subsequent_indent="    ",
                break_long_words=False,
                break_on_hyphens=False,
            )
            for line in lines
        )
        return "\n".join([f"{self.name} [{self.status}]", *wrapped])


def verdicts(paper: int | None = None, *, status: str | None = None) -> list[Verdict]:
    """Return all rows, or those of one paper or one status.

    Raises:
        InvalidParameter: a paper other than 1 to 5, or a status that is not in `STATUSES`.

    >>> row = next(row for row in verdicts(1, status="false") if row.name == "paper-1/lemma-2")
    >>> row.tests[0]
    'tests/theorems/test_paper1_smoothed_dp.py::test_lemma_2_is_false_for_three_values'
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
    3 claims: 3 false
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
    paragraphs = [_INTRODUCTION.format(statuses=statuses, counts=_counts())]
    for page in _pages():
        short = page.get("tests", {})
        names = ", ".join(f"`[{key}]` is `{path}`" for key, path in short.items())
        about = reference(page["cite"]) if "cite" in page else ""
        text = " ".join(filter(None, (page["text"], f"{names}." if names else "")))
        filled = "".join(f"\n{_filled(part)}\n" for part in (about, text) if part)
        paragraphs.append(f"## {page['title']}\n{filled}")
        for heading, words, rows in _sections(page):
            lines = [f"### {heading}\n"] if heading else []
            lines += [f"{words}\n"] if words else []
            lines += ["| claim | status | where | test | verdict |", "|---|---|---|---|---|"]
            lines += [_row(row, short) for row in rows]
            paragraphs.append("\n".join(lines) + "\n")
    programs = [row for row in verdicts() if row.counterexample]
    paragraphs.append("## Counterexamples\n")
    # One program may refute several claims.
    for text in dict.fromkeys(row.counterexample for row in programs):
        refuted = [row for row in programs if row.counterexample == text]
        anchors = "".join(f'<a id="{_anchor(row)}"></a>' for row in refuted)
        named = ", ".join(f"`{row.name}`" for row in refuted)
        paragraphs.append(f"{anchors}{named}:\n\n```text\n{text}\n```\n")
    return "\n".join(paragraphs)


def _row(row: Verdict, short: dict[str, str]) -> str:
    """Return a row of a table: the claim links its counterexample, the status its proof."""
    tests = ", ".join(f"`{_abbreviated(test, short)}`" for test in row.tests) or "-"
    claim = f"[{row.claim}](#{_anchor(row)})" if row.counterexample else row.claim
    links = (("proof", row.proof), ("what holds", row.repair))
    status = ", ".join([row.status, *(f"[{word}]({place})" for word, place in links if place)])
    return f"| {claim} | {status} | {row.where} | {tests} | {row.verdict} |"


def _anchor(row: Verdict) -> str:
    return row.name.replace("/", "-")


def _counts() -> str:
    """Return a table: statuses of claims by paper, without what is in no paper."""
    papers = [page["paper"] for page in _pages() if page["paper"]]
    named = [status for status in STATUSES if status != "proved"]
    lines = ["| status | " + " | ".join(f"paper {paper}" for paper in papers) + " |"]
    lines.append("|---" * (len(papers) + 1) + "|")
    for status in named:
        found = [str(len(verdicts(paper, status=status))) for paper in papers]
        lines.append(f"| {status} | " + " | ".join(found) + " |")
    return "\n".join(lines)


def _filled(text: str) -> str:
    return textwrap.fill(text, 110, break_long_words=False, break_on_hyphens=False)


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
    prefix = f"paper-{page['paper']}" if page["paper"] else "own"
    return [
        (
            section["heading"],
            section.get("text", ""),
            [
                Verdict(
                    paper=page["paper"],
                    name=f"{prefix}/{row['name']}",
                    section=section["heading"],
                    claim=row["claim"],
                    where=row["where"],
                    tests=tuple(_expanded(test, short) for test in row["tests"]),
                    status=row["status"],
                    verdict=row["verdict"],
                    proof=row.get("proof", ""),
                    repair=row.get("repair", ""),
                    counterexample=_program(row.get("counterexample", "")),
                )
                for row in section["claims"]
            ],
        )
        for section in page["sections"]
    ]


def _program(text: str) -> str:
    """Return the program, or that of the row which the text names."""
    if not re.fullmatch(r"paper-\d/[\w-]+", text):
        return text.strip("\n")
    folder, _, name = text.partition("/")
    (page,) = (page for page in _pages() if f"paper-{page['paper']}" == folder)
    rows = (row for section in page["sections"] for row in section["claims"])
    return str(next(row["counterexample"] for row in rows if row["name"] == name)).strip("\n")


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
