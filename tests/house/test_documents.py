"""The examples of the README and of the documentation run and print what they say."""

from __future__ import annotations

import doctest
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_examples(page: Path) -> None:
    # A fence right after an example would be read as its output.
    text = "\n".join(
        "" if line.startswith("```") else line for line in page.read_text().splitlines()
    )
    test = doctest.DocTestParser().get_doctest(text, {}, page.name, str(page), 0)
    result = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test)
    assert result.failed == 0


def test_pages_of_the_site_exist() -> None:
    """The navigation names every page, and only pages that exist."""
    lines = (ROOT / "mkdocs.yml").read_text().splitlines()
    named = {line.rsplit(": ", 1)[1].strip() for line in lines if line.strip().endswith(".md")}
    present = {str(p.relative_to(ROOT / "docs")) for p in (ROOT / "docs").rglob("*.md")}
    assert named == present
