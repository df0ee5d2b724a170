"""The verdicts: none empty, every test named exists, the page and the command are one."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from smoothdp.errors import InvalidParameter
from smoothdp.papers.verdicts import STATUSES, Verdict, verdicts, verdicts_page, verdicts_text

ROOT = Path(__file__).parents[2]
ROWS = verdicts()
NEEDS_NO_TEST = {"corrected", "not checked"}
# Words that are no claim about a number or a law.
WORDS = {
    "Theorem 5, equation (8)",
    "Facts 3, 5: calculus",
}
# Everything that the papers number.
NUMBERED = {
    1: {
        "Definition": "1-5", "Justification": "1-3", "Lemma": "1-2 10", "Corollary": "3",
        "Theorem": "1-5", "Proposition": "4-7 9", "Remark": "8", "Algorithm": "1-4", "Table": "1-3",
        "Figure": "1-5", "Example": "1",
    },
    2: {
        "Definition": "1-2 13-14 16-17 21 30 32 37 41", "Proposition": "3-5 10 35-36 38-40 42",
        "Theorem": "6-7 18 22 25 31 34 46 51", "Corollary": "47-48 52", "Figure": "1-6",
        "Lemma": "8-9 11-12 15 19-20 23-24 26-29 33 43-45 49-50",
    },
    4: {
        "Theorem": "1 8", "Definition": "2 6", "Fact": "3-5", "Lemma": "7 9-13 15",
        "Corollary": "14", "Claim": "16-18", "Figure": "1-2",
    },
}  # fmt: skip
# With numbers of two parts, as they stand.
NAMED = {
    3: {
        "Definition": "2.1 2.2 2.3 2.4 2.5 2.6 2.7 3.3 3.5 3.6 A.1",
        "Theorem": "1.1 1.2 1.3 3.1 3.2 4.1",
        "Claim": "3.4 4.2 4.3 4.4",
        "Lemma": "A.2 A.3",
        "Corollary": "A.4",
        "Table": "1",
    },
    5: {
        "Definition": "2.1 2.2 2.3 2.4 2.6 3.1",
        "Corollary": "2.5 3.2 3.3",
        "Theorem": "1 2 3",
        "Algorithm": "1 2 3",
        "Claim": "B.1 B.2 B.4 B.5 B.6 C.1",
        "Lemma": "B.3",
        "Figure": "1 2",
    },
}


def numbers(text: str) -> list[str]:
    """Return "1-3 5" as ["1", "2", "3", "5"]."""
    found = []
    for part in text.split():
        first, _, last = part.partition("-")
        found += [str(n) for n in range(int(first), int(last or first) + 1)]
    return found


def covered(paper: int) -> set[tuple[str, str]]:
    """Return (kind, number) of what the rows of a paper are about."""
    found = set()
    for row in verdicts(paper):
        for kind, listed in re.findall(
            r"\b([A-Z][a-z]+?)s? ((?:(?:[A-Z]\.)?\d+(?:\.\d+)?(?: \([a-z]\))?(?:, | and | to )?)+)",
            row.claim.replace("Corollaries", "Corollarys"),
        ):
            plain = re.sub(r" \([a-z]\)", "", listed)
            places = re.findall(r"(?:[A-Z]\.)?\d+(?:\.\d+)?", plain)
            found |= {(kind, place) for place in places}
            for first, last in re.findall(r"((?:\d+\.)?\d+) to ((?:\d+\.)?\d+)", plain):
                head, _, low = first.rpartition(".")
                for n in range(int(low), int(last.rpartition(".")[2]) + 1):
                    found.add((kind, f"{head}.{n}" if head else str(n)))
    return found


@pytest.mark.parametrize("paper", [1, 2, 3, 4, 5])
def test_every_numbered_claim_has_a_row(paper: int) -> None:
    wanted = {
        (kind, number)
        for kind, text in {**NUMBERED, **NAMED}[paper].items()
        for number in (numbers(text) if paper in NUMBERED else text.split())
    }
    assert wanted - covered(paper) == set()


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.paper}-{row.claim[:40]}")
def test_row(row: Verdict) -> None:
    assert row.claim
    assert row.where
    assert row.verdict.strip(" -")
    assert row.status in STATUSES
    assert row.tests or row.status in NEEDS_NO_TEST or row.claim in WORDS
    assert "|" not in row.claim + row.where + row.verdict
    for test in row.tests:
        path, _, name = test.partition("::")
        text = (ROOT / path).read_text() if path.startswith(("tests/", "benchmarks/")) else ""
        assert text, f"{test}: there is no such file"
        if path.startswith("tests/"):
            names = re.findall(r"^ *def (test_\w+)", text, flags=re.MULTILINE)
            pattern = re.escape(name or "*").replace(r"\*", ".*")
            assert any(re.fullmatch(pattern, found) for found in names), f"{test}: no such test"


def test_false_claims_have_a_test() -> None:
    assert all(row.tests for row in ROWS if row.status == "false")


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.paper}-{row.claim[:40]}")
def test_files_that_implement_a_claim_exist(row: Verdict) -> None:
    for name in re.findall(r"`([\w/]+(?:\.py|/))`", row.where):
        assert list((ROOT / "src/smoothdp").rglob(name.rstrip("/"))), name


def test_the_page_is_the_rows() -> None:
    """If not: mend a row of claims, then smoothdp papers verdicts --markdown > docs/papers.md"""
    assert (ROOT / "docs/papers.md").read_text(encoding="utf-8") == verdicts_page()


def test_rows_of_the_page_are_whole() -> None:
    lines = [line for line in verdicts_page().splitlines() if line.startswith("| ")]
    sections = len({(row.paper, row.section) for row in ROWS})
    assert len(lines) == len(ROWS) + sections
    assert {line.count(" | ") for line in lines} == {3}


def test_selection() -> None:
    false = verdicts(2, status="false")
    assert {row.paper for row in false} == {2}
    assert {row.status for row in false} == {"false"}
    assert 0 < len(false) < len(verdicts(2)) < len(ROWS)
    text = verdicts_text(false)
    assert text.count("[false]") == len(false)
    assert f"{len(false)} claims: {len(false)} false" in text
    assert "`" not in text
    assert verdicts_text([]) == "0 claims: none"


@pytest.mark.parametrize(("paper", "status"), [(0, None), (6, None), (None, "maybe")])
def test_bad_selection(paper: int | None, status: str | None) -> None:
    with pytest.raises(InvalidParameter):
        verdicts(paper, status=status)
