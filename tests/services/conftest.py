"""A world of two services for each test; every test that makes one runs on both storages."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from smoothdp.services.store.storage import SqliteStorage
from tests.services.postgres_server import PostgresServer
from tests.services.storages import POSTGRESQL, SQLITE, Current
from tests.services.world import World


@pytest.fixture(autouse=True)
def state_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder that `smoothdp submit` keeps its state in: another one for each test."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state"


STORAGES = [SQLITE, pytest.param(POSTGRESQL, marks=pytest.mark.slow)]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a test on both storages if it has a world or its module makes some."""
    if "storage_kind" not in metafunc.fixturenames:
        if not any(hasattr(metafunc.module, name) for name in ("World", "PartyWorld")):
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
    """Set the storage of tests that make their worlds themselves, too."""
    callspec = getattr(request.node, "callspec", None)
    if callspec is not None and "storage_kind" in callspec.params:
        request.getfixturevalue("storage_kind")


@pytest.fixture
def world(storage_kind: str, tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path)
    assert (type(made.shuffler.storage) is SqliteStorage) == (storage_kind == SQLITE)
    yield made
    made.close()
