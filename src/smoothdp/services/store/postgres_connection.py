"""A connection to PostgreSQL that comes back after it was lost."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from smoothdp.errors import MissingExtra
from smoothdp.services.store.postgres_refusals import (
    locked,
    lost_or_same,
    not_connected,
    only_read,
)
from smoothdp.services.store.storage import Row, StorageFull, StorageUnreachable

try:
    import psycopg
    from psycopg import errors, sql
    from psycopg.adapt import Loader
except ImportError:
    raise MissingExtra("storage in PostgreSQL", "postgres") from None


class _WholeNumber(Loader):
    """Sums of whole numbers come as numeric: there are no others here."""

    def load(self, data: Any) -> int:
        return int(bytes(data))


@dataclass
class Losses:
    """How often a connection to one server was lost: where one was, all are made anew."""

    count: int = 0


class Line:
    """One connection, used by one thread at a time; a new one when the last was lost.

    Args:
        address: the server's.
        wait_seconds: how long to wait for a lock.
        losses: shared by the connections of one storage.
        idle_seconds: how long the server waits for the next statement of a transaction before it
            undoes it and ends the connection: what it holds would keep others waiting. By
            default as long as the server is set to.
    """

    def __init__(
        self,
        address: str,
        wait_seconds: float,
        losses: Losses,
        *,
        idle_seconds: float | None = None,
    ) -> None:
        self.address = address
        self._wait, self._losses, self._made_after = wait_seconds, losses, 0
        self._idle = idle_seconds
        self._lock = threading.RLock()
        self._connection: psycopg.Connection[Row] | None = None

    def connected(self) -> psycopg.Connection[Row]:
        """Return the connection; a new one if the last was lost, or another's was since."""
        if (
            self._connection is None
            or self._connection.closed
            or self._made_after != self._losses.count
        ):
            self.close()
            self._made_after = self._losses.count
            connection: psycopg.Connection[Row] | None = None
            try:
                connection = psycopg.connect(self.address, autocommit=True)
                self._set_up(connection)
            except (psycopg.OperationalError, psycopg.ProgrammingError) as error:
                if connection is not None:
                    connection.close()
                raise not_connected(error, self.address) from None
            self._connection = connection
        return self._connection

    def _set_up(self, connection: psycopg.Connection[Row]) -> None:
        _require_fsync(connection)
        # A snapshot must be taken after a lock was waited for, so one for each statement: at
        # REPEATABLE READ no window could be closed that took reports meanwhile.
        connection.isolation_level = psycopg.IsolationLevel.READ_COMMITTED
        connection.adapters.register_loader("numeric", _WholeNumber)
        connection.execute("SET synchronous_commit TO on")
        # A plan that was made while a table was empty reads all of it when it is full.
        connection.execute("SET plan_cache_mode TO force_custom_plan")
        _set_seconds(connection, "lock_timeout", self._wait)
        if self._idle is not None:
            _set_seconds(connection, "idle_in_transaction_session_timeout", self._idle)

    @contextmanager
    def used(self) -> Iterator[psycopg.Connection[Row]]:
        """Yield the connection, alone; what the server refuses is said in words."""
        with self._lock:
            connection = self.connected()
            try:
                yield connection
            except errors.DiskFull as error:
                raise StorageFull(str(error)) from error
            except (errors.LockNotAvailable, errors.DeadlockDetected) as error:
                raise locked() from error
            except errors.IdleInTransactionSessionTimeout as error:
                # The server's last word: it has undone everything.
                connection.close()
                raise lost_or_same(connection, error) from None
            except errors.ReadOnlySqlTransaction:
                # Another server is written to now: it is looked for again.
                connection.close()
                self._losses.count += 1
                raise only_read() from None
            except psycopg.OperationalError as error:
                self._losses.count += connection.closed
                raise lost_or_same(connection, error) from None

    def close(self) -> None:
        """Close the connection."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()


def _require_fsync(connection: psycopg.Connection[Row]) -> None:
    if connection.execute("SHOW fsync").fetchone() != ("on",):
        connection.close()
        raise StorageUnreachable(
            expected="a server with fsync=on",
            got="off",
            remedy="Set fsync=on, and reload it: without it acknowledged reports would be lost",
        )


def _set_seconds(connection: psycopg.Connection[Row], name: str, seconds: float) -> None:
    value = sql.Literal(round(1000 * seconds))
    connection.execute(sql.SQL("SET {} TO {}").format(sql.Identifier(name), value))
