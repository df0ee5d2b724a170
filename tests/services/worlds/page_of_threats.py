"""The page on threats, whose words and numbers tests look up."""

from __future__ import annotations

from pathlib import Path

PAGE = Path(__file__).parents[3] / "docs" / "threats.md"


def on_the_page(words: str) -> bool:
    return words in " ".join(PAGE.read_text(encoding="utf-8").split())
