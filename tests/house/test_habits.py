"""What a stranger reads first is true: links, targets, test folders, changelog, workflows."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCUMENTS = [
    *sorted(ROOT.glob("*.md")),
    *sorted((ROOT / "tests").glob("*.md")),
    *sorted((ROOT / ".github").glob("*.md")),
]
WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))
TEMPLATES = sorted((ROOT / ".github/ISSUE_TEMPLATE").glob("*.yml"))
MAKEFILE = (ROOT / "Makefile").read_text()
TARGETS = set(re.findall(r"^([\w-]+):(?!=)", MAKEFILE, re.MULTILINE))


def anchor(heading: str) -> str:
    """Return what a heading is linked by."""
    return re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")


@pytest.mark.parametrize("page", DOCUMENTS, ids=lambda p: str(p.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8")):
        if target.startswith(("http:", "https:", "mailto:")):
            continue
        path, _, part = target.partition("#")
        place = (page.parent / path).resolve() if path else page
        assert place.exists(), f"{page.name}: {target}"
        if part:
            headings = re.findall(r"^#+ (.*)$", place.read_text(encoding="utf-8"), re.MULTILINE)
            assert part in {anchor(heading) for heading in headings}, f"{page.name}: {target}"


def test_the_usual_documents_are_there() -> None:
    names = {page.name for page in DOCUMENTS}
    assert {"CONTRIBUTING.md", "SECURITY.md", "CODE_OF_CONDUCT.md", "RELEASING.md"} <= names
    assert "PULL_REQUEST_TEMPLATE.md" in names
    for name in ("CITATION.cff", ".editorconfig", ".gitattributes", ".pre-commit-config.yaml"):
        assert (ROOT / name).is_file()
    assert any("false bound" in template.read_text() for template in TEMPLATES)


def test_no_address_is_made_up() -> None:
    """Faults are told by the repository's own means: nobody reads an invented letter box."""
    for page in [*DOCUMENTS, *TEMPLATES, ROOT / "CITATION.cff"]:
        assert not re.search(r"[\w.]+@[\w-]+\.\w+", page.read_text(encoding="utf-8")), page.name


@pytest.mark.parametrize(
    "page", [*DOCUMENTS, *WORKFLOWS, ROOT / ".ci/run"], ids=lambda p: str(p.relative_to(ROOT))
)
def test_every_target_that_is_named_exists(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    commands = re.findall(r"(?:^|`|run: )make ([a-z][a-z-]+)", text, re.MULTILINE)
    matrix = re.search(r"target: \[(.*)\]", text)
    commands += [name.strip() for name in matrix[1].split(",")] if matrix else []
    assert set(commands) <= TARGETS, page.name


def test_help_lists_every_target() -> None:
    phony = re.search(r"^\.PHONY: ((?:.*\\\n)*.*)$", MAKEFILE, re.MULTILINE)
    assert phony is not None
    targets = set(phony[1].replace("\\\n", " ").split())
    listed = set(re.findall(r'^\t@echo "make ([\w-]+) ', MAKEFILE, re.MULTILINE))
    assert targets <= TARGETS
    assert targets - listed == {"help", "smoke"}


def test_no_test_sets_the_digits_of_the_others() -> None:
    """mpmath has one precision for a whole process: set for good, it slows all other tests."""
    for path in sorted((ROOT / "tests").rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        own = re.search(r"^mp\b.* = mpmath\.mp\.clone\(\)$", text, re.MULTILINE)
        shared = r"mpmath\.mp" if own else r"(?:mpmath\.)?mp"
        assert not re.search(rf"^{shared}\.(?:dps|prec) =", text, re.MULTILINE), path.name
    assert pytest.importorskip("mpmath").mp.dps == 15


def test_every_folder_of_tests_is_explained() -> None:
    page = (ROOT / "tests/README.md").read_text(encoding="utf-8")
    explained = set(re.findall(r"^\| `(\w+)/` \|", page, re.MULTILINE))
    folders = {path.parent.name for path in (ROOT / "tests").glob("*/__init__.py")}
    assert explained == folders


def test_workflows_run_what_a_contributor_runs() -> None:
    """Every Python that pyproject.toml allows and that is out, the lowest dependencies, no more."""
    text = (ROOT / ".github/workflows/tests.yml").read_text()
    assert re.search(r'python: \["3\.11", "3\.12", "3\.13"\]', text)
    assert "run: make test PYTHON=" in text
    assert "run: make test-lowest PYTHON=" in text
    for workflow in WORKFLOWS:
        lines = workflow.read_text()
        assert "\t" not in lines
        assert "contents: read" in lines
        assert "pip install" not in lines


def test_hooks_fetch_nothing() -> None:
    text = (ROOT / ".pre-commit-config.yaml").read_text()
    assert re.findall(r"repo: (\S+)", text) == ["local"]
    assert set(re.findall(r"language: (\S+)", text)) == {"system"}
    tools = re.findall(r"entry: (\S+)", text)
    assert {tool.rsplit("/", 1)[0] for tool in tools} == {".venv/bin"}


SECTIONS = ["Guarantees", "Added", "Changed", "Removed", "Fixed", "Formats"]


def test_the_changelog_has_a_heading_per_version_and_sections_in_order() -> None:
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    parts = re.split(r"^## (.*)\n", text, flags=re.MULTILINE)[1:]
    headings, bodies = parts[::2], parts[1::2]
    versions = []
    for heading in headings:
        named = re.fullmatch(
            r"(\d+)\.(\d+)\.(\d+) \((unreleased|not published|\d{4}-\d\d-\d\d)\)", heading
        )
        assert named is not None, heading
        versions.append(tuple(int(named[i]) for i in (1, 2, 3)))
    assert versions == sorted(set(versions), reverse=True)
    assert not [heading for heading in headings[1:] if "unreleased" in heading]
    for version, body in zip(versions, bodies, strict=True):
        sections = re.findall(r"^### (.*)$", body, re.MULTILINE)
        assert sections == [name for name in SECTIONS if name in sections], version
        assert sections or version == (0, 1, 0)
        for section in re.split(r"^### .*\n", body, flags=re.MULTILINE)[1:]:
            assert section.strip().startswith("- "), version


def test_bundles_are_marked_as_written_by_programs() -> None:
    text = (ROOT / ".gitattributes").read_text()
    marked = [line.split()[0] for line in text.splitlines() if "linguist-generated=true" in line]
    files = [path for path in (ROOT / "src").rglob("*.js") if path.stat().st_size > 50_000]
    assert files
    for path in files:
        shown = str(path.relative_to(ROOT))
        assert any(path.match(pattern.removeprefix("**/")) for pattern in marked), shown
