"""State of one test's own, and both storages for every test that makes parties."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.services.storages import POSTGRESQL, SQLITE, Current
from tests.services.worlds.postgres_server import PostgresServer


@pytest.fixture(autouse=True)
def state_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder that `smoothdp submit` keeps its state in: another one for each test."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state"


STORAGES = [SQLITE, pytest.param(POSTGRESQL, marks=pytest.mark.slow)]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a test on both storages if its module makes parties."""
    if "storage_kind" not in metafunc.fixturenames:
        if not any(hasattr(metafunc.module, name) for name in ("PartyWorld", "WholeWorld")):
            return
        metafunc.fixturenames.insert(0, "storage_kind")
    named = [mark.args[0] for mark in metafunc.definition.iter_markers("parametrize")]
    if "storage_kind" not in named:
        metafunc.parametrize("storage_kind", STORAGES, indirect=True)


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PostgresServer]:
    pytest.importorskip("psycopg")
    server = PostgresServer()
    yield server
    server.remove()


@pytest.fixture
def storage_kind(request: pytest.FixtureRequest) -> Iterator[str]:
    if request.param == POSTGRESQL:
        Current.server = request.getfixturevalue("postgres_server")
    yield request.param
    Current.server = None


@pytest.fixture(autouse=True)
def storage_of_the_test(request: pytest.FixtureRequest) -> None:
    """Set the storage before a test makes its parties."""
    callspec = getattr(request.node, "callspec", None)
    if callspec is not None and "storage_kind" in callspec.params:
        request.getfixturevalue("storage_kind")
