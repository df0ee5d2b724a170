"""What the doctests of ``src`` need of pytest."""

from __future__ import annotations

import os
from collections.abc import Iterator
from importlib.util import find_spec

import pytest

# Modules whose extra is too large for `make check`.
collect_ignore = [] if find_spec("pyspark") else ["src/smoothdp/engines/spark.py"]


@pytest.fixture(scope="session", autouse=True)
def _state_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """No test or doctest touches the state of whoever runs it."""
    kept = os.environ.get("XDG_STATE_HOME")
    os.environ["XDG_STATE_HOME"] = str(tmp_path_factory.mktemp("state"))
    yield
    del os.environ["XDG_STATE_HOME"]
    if kept is not None:
        os.environ["XDG_STATE_HOME"] = kept


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let autodp warn as it is read and divides: its warnings are not ours to mend."""
    for item in items:
        if item.nodeid.startswith("src/smoothdp/interop/autodp.py"):
            item.add_marker(pytest.mark.filterwarnings("ignore"))
