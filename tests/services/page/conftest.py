"""An issuer for the tests of the poll page."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.services.worlds.issuing_world import IssuingWorld


@pytest.fixture
def world(tmp_path: Path) -> Iterator[IssuingWorld]:
    made = IssuingWorld(tmp_path)
    made.open_window()
    yield made
    made.close()
