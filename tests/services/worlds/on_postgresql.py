"""Tests on PostgreSQL alone, and the server that they run on."""

from __future__ import annotations

from collections.abc import Callable

from tests.services.storages import ONLY_POSTGRESQL, Current
from tests.services.worlds.postgres_server import PostgresServer


def on_postgresql(test: Callable[..., None]) -> Callable[..., None]:
    """Run a test on PostgreSQL alone."""
    for mark in ONLY_POSTGRESQL:
        test = mark(test)
    return test


def the_server() -> PostgresServer:
    """Return the server of the present test."""
    assert Current.server is not None
    return Current.server
