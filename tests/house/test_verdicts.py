"""The verdicts: none empty, every test named exists, the page and the command are one."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest
from docs_site.tested import PROOFS, linked, matching, pages, proof_linked

from smoothdp.errors import InvalidParameter
from smoothdp.papers.verdicts import STATUSES, verdicts, verdicts_page, verdicts_text

ROOT = Path(__file__).parents[2]
ROWS = verdicts()
NEEDS_NO_TEST = {"not checked"}
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
        "Figure": "1 2",
    },
    5: {
        "Definition": "2.1 2.2 2.3 2.4 2.6 3.1",
        "Corollary": "2.5 3.2 3.3",
        "Theorem": "1 2 3",
        "Algorithm": "1 2 3 4 5",
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


# Equations, and what is claimed without a number, by the names of their rows.
OTHERS = {
    1: "justification-1-one-half inequality-2 equation-4 inequality-5 equation-6 inequality-7 "
    "equation-8 inequality-9 inequality-10 inequality-11 section-5-1-first-group "
    "section-5-1-second-group section-5-1-third-group figure-1-utility figure-2-fits "
    "appendix-a-3-positive utility-of-a-guess figure-1-orders appendix-g-1-shares "
    "theorem-2-appendix theorem-3-i-appendix footnote-1 footnote-2 footnote-3 footnote-5 "
    "footnote-6 introduction-delta-near-1 introduction-utility-near-1 "
    "introduction-seventy-percent section-5-2-values section-5-2-average section-5-2-theorem-3",
    2: "section-1-2-lln-tail section-1-2-uln-tail section-1-2-lln-moments "
    "section-1-2-uln-moments section-1-2-arsinh-moments section-7-2-factor-two "
    "section-7-2-ten-percent section-7-2-trimming section-7-2-order section-7-2-moments "
    "section-1-1-laplace section-1-1-cauchy section-1-1-polynomial section-1-4-gaussian "
    "section-2-3-bounded section-2-3-moments theorem-25-constants lemma-28-remark "
    "section-3-4-powers section-3-4-sampling section-7-1-implications section-7-1-shapes "
    "footnote-1 section-3-1-moments section-3-2-moments section-4-tails section-4-pinsker "
    "section-5-1-medians section-6-1-subexponential",
    3: "equation-1 section-1-2-lemma section-1-2-amplification section-3-2-central "
    "section-3-3-domain section-4-1-pre-shuffle",
    4: " ".join(f"equation-{number}" for number in range(1, 13))
    + " introduction-older-noise introduction-factors introduction-laplace introduction-optimal "
    "introduction-limit introduction-factor-two section-1-1-scaling",
    5: "appendix-a appendix-c claim-c-1-root theorem-2-at-figure-1 figure-1-a figure-1-b "
    "figure-1-c figure-1-d figure-2-a figure-2-b section-3-1-users appendix-b-title",
}


@pytest.mark.parametrize("paper", OTHERS)
def test_what_has_no_number_or_is_an_equation_has_a_row(paper: int) -> None:
    wanted = {f"paper-{paper}/{name}" for name in OTHERS[paper].split()} - {"paper-1/inequality-2"}
    assert wanted <= {row.name for row in ROWS}


def test_names_are_unique_and_short() -> None:
    names = [row.name for row in ROWS]
    assert len(set(names)) == len(names)
    for row in ROWS:
        assert re.fullmatch(r"(paper-[1-5]|own)/[a-z0-9-]{3,30}", row.name), row.name
        assert row.name.startswith("own/") == (row.paper == 0) == (row.status == "proved")


def test_no_row_is_of_several_numbered_items() -> None:
    plural = r"(Definition|Lemma|Theorem|Claim|Proposition|Fact|Algorithm|Table|Figure)s \d"
    for row in ROWS:
        assert not re.search(plural, row.claim), row.name


@cache
def named_in(path: str) -> tuple[str, ...]:
    """Return the names of the tests of a file; of a benchmark none, if it exists."""
    assert path.startswith(("tests/", "benchmarks/")), f"{path}: there is no such file"
    text = (ROOT / path).read_text(encoding="utf-8")
    assert text, f"{path}: there is no such file"
    return tuple(re.findall(r"^ *def (test_\w+)", text, flags=re.MULTILINE))


def test_rows_are_whole() -> None:
    for row in ROWS:
        assert row.claim, row.name
        assert row.where, row.name
        assert row.verdict.strip(" -"), row.name
        assert row.status in STATUSES, row.name
        assert row.tests or row.status in NEEDS_NO_TEST, row.name
        assert "|" not in row.claim + row.where + row.verdict, row.name


def test_every_test_that_a_row_names_exists() -> None:
    for test in sorted({test for row in ROWS for test in row.tests}):
        path, _, name = test.partition("::")
        # A claim about a running time is shown by a benchmark.
        assert name or path.startswith("benchmarks/"), f"{test}: name the test, not its file"
        names = named_in(path)
        if path.startswith("tests/"):
            pattern = re.escape(name or "*").replace(r"\*", ".*")
            assert any(re.fullmatch(pattern, found) for found in names), f"{test}: no such test"


def test_false_claims_have_a_test_and_a_counterexample() -> None:
    for row in ROWS:
        if row.status == "false":
            assert row.tests, row.name
            assert row.counterexample, row.name


def test_proofs_are_found() -> None:
    for row in ROWS:
        for place in filter(None, (row.proof, row.repair)):
            page, _, statement = place.partition("#")
            text = (ROOT / "docs" / page).read_text(encoding="utf-8")
            assert statement, row.name
            assert re.search(rf"^## {statement}\. .*{{#{statement}}}$", text, re.MULTILINE), place


def test_what_is_proved_here_has_its_proof() -> None:
    """Own results, and claims of which a verdict says that they, or others, are proved."""
    for row in ROWS:
        if row.status == "proved" or re.search(r"\bproved\b", row.verdict):
            assert row.proof, f"{row.name}: which statement of docs/proofs proves it?"
        assert not row.repair or row.proof != row.repair, row.name
        # What is repaired is no claim that holds as printed.
        assert not row.repair or row.status in {"false", "loose", "misprint", "proof gap"}, row.name


def test_files_that_implement_a_claim_exist() -> None:
    named = {n for row in ROWS for n in re.findall(r"`([\w/]+(?:\.py|/))`", row.where)}
    assert len(named) > 50
    for name in sorted(named):
        assert list((ROOT / "src/smoothdp").rglob(name.rstrip("/"))), name


def test_the_page_is_the_rows() -> None:
    """If not: mend a row of claims, then smoothdp papers verdicts --markdown > docs/papers.md"""
    assert (ROOT / "docs/papers.md").read_text(encoding="utf-8") == verdicts_page()


def test_on_the_site_every_test_named_leads_to_its_source() -> None:
    page, sources = linked(verdicts_page()), pages()
    links = re.findall(r"\]\((tests/[\w/]+\.md)#(test_\w+)\)", page)
    assert len(links) == sum(test.startswith("tests/") for row in ROWS for test in row.tests)
    for place, name in links:
        assert f"## {name} {{#{name}}}\n" in sources[place], f"{place}#{name}"
        assert f"def {name}(" in sources[place]
    # The page itself has names only: it is read outside the site too.
    assert "](tests/" not in verdicts_page()


def test_on_the_site_the_tests_of_proofs_lead_to_their_source() -> None:
    sources = pages()
    for page in PROOFS.glob("*.md"):
        plain = page.read_text(encoding="utf-8")
        shown = proof_linked(plain)
        links = re.findall(r"\]\(\.\./(tests/[\w/]+\.md)#(test_\w+)\)", shown)
        assert len(links) == len(re.findall(r"`tests/[\w/]+\.py::test_\w+`", plain))
        assert links or page.stem == "index"
        for place, name in links:
            assert f"def {name}(" in sources[place], f"{page.name}: {place}#{name}"


def test_a_name_without_a_test_is_noticed() -> None:
    with pytest.raises(LookupError, match="has no test_nothing"):
        matching("tests/house/test_verdicts.py", "test_nothing")
    named = matching("tests/house/test_verdicts.py", "test_bad_*")
    assert named == ["test_bad_selection"]


def test_rows_of_the_page_are_whole() -> None:
    page = verdicts_page()
    lines = [line for line in page.splitlines() if line.startswith("| ")]
    counts = [line for line in lines if line.count(" | ") == 5]
    sections = len({(row.paper, row.section) for row in ROWS})
    assert len(lines) - len(counts) == len(ROWS) + sections
    assert {line.count(" | ") for line in lines} == {4, 5}
    # The counts are those of claims in papers: what is in no paper is not in them.
    numbers = [int(cell) for line in counts[1:] for cell in line.strip("| ").split(" | ")[1:]]
    assert sum(numbers) == sum(row.paper != 0 for row in ROWS)
    assert len(counts) == len(STATUSES)
    for row in ROWS:
        assert bool(row.counterexample) == (f'<a id="{row.name.replace("/", "-")}"></a>' in page)


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
