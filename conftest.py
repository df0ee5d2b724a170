"""What the doctests of ``src`` need of pytest."""

from __future__ import annotations

from importlib.util import find_spec

import pytest

# Modules whose extra is too large for `make check`.
collect_ignore = [] if find_spec("pyspark") else ["src/smoothdp/engines/spark.py"]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let autodp warn as it is read and divides: its warnings are not ours to mend."""
    for item in items:
        if item.nodeid.startswith("src/smoothdp/interop/autodp.py"):
            item.add_marker(pytest.mark.filterwarnings("ignore"))
