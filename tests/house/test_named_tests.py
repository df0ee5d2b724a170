"""Tests that the pages about the services name are there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NAME = re.compile(r"`(?:[\w/]+\.py::)?(test_\w+)`")


@pytest.mark.parametrize("page", ["threats.md", "service-tests.md"])
def test_tests_that_a_page_names_are_there(page: str) -> None:
    defined = {
        name
        for file in (ROOT / "tests").rglob("*.py")
        for name in re.findall(r"^def (test_\w+)\(", file.read_text(encoding="utf-8"), re.MULTILINE)
    }
    named = set(NAME.findall((ROOT / "docs" / page).read_text(encoding="utf-8")))
    assert len(named) > 20
    assert named <= defined, sorted(named - defined)
