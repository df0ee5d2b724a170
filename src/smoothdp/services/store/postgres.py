"""PostgreSQL behind the services. Needs the extra ``postgres``.

One transaction writes at a time, as with SQLite: an advisory lock at its start, held until
its commit is on disk. Opening envelopes and batches, which is most of the work, is outside
it. Deleted rows stay in the server's log and pages, so what must be forgotten is sealed with
keys of a file beside (see `erasable_keys`), and `forget` erases those that are done with.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from smoothdp.errors import InvalidData, InvalidParameter, MissingExtra, SmoothdpError
from smoothdp.services.store.erasable_keys import ErasableKeys
from smoothdp.services.store.migrations import Schema
from smoothdp.services.store.postgres_dialect import HIDDEN, hidden_place, schema_of, statement_of
from smoothdp.services.store.storage import (
    Row,
    StorageFull,
    StorageLocked,
    StorageUnreachable,
    Transaction,
)

try:
    import psycopg
    from psycopg import errors, sql
    from psycopg.adapt import Loader
except ImportError:
    raise MissingExtra("storage in PostgreSQL", "postgres") from None

_STATE = """
CREATE TABLE IF NOT EXISTS smoothdp_state (
  role TEXT PRIMARY KEY, version BIGINT NOT NULL, keys TEXT NOT NULL)
"""
_LOCK = "SELECT pg_advisory_xact_lock('smoothdp_state'::regclass::oid::bigint)"


class _WholeNumber(Loader):
    """Sums of whole numbers come as numeric: there are no others here."""

    def load(self, data: Any) -> int:
        return int(bytes(data))


class _PostgresTransaction:
    def __init__(self, connection: psycopg.Connection[Row], keys: ErasableKeys) -> None:
        self._connection = connection
        self._keys = keys

    def execute(self, statement: str, values: Sequence[Any] = ()) -> list[Row]:
        cursor = self._connection.execute(
            statement_of(statement),
            self._sealed(statement, values),
        )
        return opened(cursor, self._keys)

    def execute_many(self, statement: str, rows: Iterable[Sequence[Any]]) -> list[list[Row]]:
        sealed = [self._sealed(statement, row) for row in rows]
        return answers(self._connection, statement, sealed, self._keys)

    def change(self, statement: str, values: Sequence[Any] = ()) -> int:
        return self._connection.execute(
            statement_of(statement),
            self._sealed(statement, values),
        ).rowcount

    def change_many(self, statement: str, rows: Iterable[Sequence[Any]]) -> None:
        self._connection.cursor().executemany(
            statement_of(statement),
            [self._sealed(statement, row) for row in rows],
        )

    def _sealed(self, statement: str, values: Sequence[Any]) -> Sequence[Any]:
        hidden_value = hidden_place(statement)
        if hidden_value is None or values[hidden_value[1]] is None:
            return values
        table, hidden, scope = hidden_value
        name = scope_name(table, [values[i] for i in scope])
        sealed = self._keys.seal(name, bytes(values[hidden]))
        return [*values[:hidden], sealed, *values[hidden + 1 :]]


class PostgresStorage:
    """The state of one service in a database, or a schema of one, of its own.

    Args:
        address: ``postgresql://...``; libpq's files and variables give what it leaves out, so
            that no password need be in it.
        schema: migrations or statements that make the tables, as for SQLite.
        role: "shuffler" or "analyzer"; a database of the other is refused.
        key_file: where the erasable keys are. All processes of the service share it.
        busy_seconds: how long to wait for another process that writes.

    Raises:
        StorageUnreachable: no server there, or it refuses.
        InvalidData: a newer schema, or the state of another service.
    """

    def __init__(
        self,
        address: str,
        schema: Schema | str,
        *,
        role: str,
        key_file: Path,
        busy_seconds: float = 30.0,
    ) -> None:
        self._address, self._busy = address, busy_seconds
        self._lock = threading.RLock()
        self._connection: psycopg.Connection[Row] | None = None
        self._connected()
        is_new = not key_file.exists()
        self._keys = ErasableKeys(key_file)
        try:
            self._prepare(Schema.of(schema), role)
        except BaseException as error:
            self.close()
            if is_new:
                # Nothing is sealed with it, and it would say that rows are here.
                key_file.unlink(missing_ok=True)
            if isinstance(error, psycopg.Error):
                raise not_prepared(error) from None
            raise

    def _prepare(self, schema: Schema, role: str) -> None:
        connection = self._connected()
        if connection.execute("SHOW fsync").fetchone() != ("on",):
            raise InvalidParameter(
                expected="a server with fsync=on",
                got="off",
                remedy="Set fsync=on: without it acknowledged reports would be lost",
            )
        with connection.transaction():
            # Two services that start at once would both try to make the same table.
            connection.execute("SELECT pg_advisory_xact_lock(hashtext(current_schema())::bigint)")
            connection.execute(_STATE)
            connection.execute(_LOCK)
            rows = connection.execute("SELECT role, version, keys FROM smoothdp_state").fetchall()
            number = 0
            for used_by, version, keys in rows:
                number = int(version)
                schema.missing(number, "the database")
                if used_by != role:
                    raise InvalidData(
                        expected=f"a database of the {role}'s own",
                        got=f"the {used_by}'s",
                        remedy="Give each service a database of its own: they are two parties",
                    )
                if keys != self._keys.name:
                    raise InvalidData(
                        expected=f"at {self._keys.path} the keys that the rows are sealed with",
                        got="others",
                        remedy=(
                            "Restore that file from a copy; where it is lost the rows are lost, "
                            "and an empty database begins anew"
                        ),
                    )
            if not rows:
                _require_empty(connection, schema)
                connection.execute(
                    "INSERT INTO smoothdp_state (role, version, keys) VALUES (%s, %s, %s)",
                    (role, schema.number, self._keys.name),
                )
            missing = schema.missing(number, "the database")
            if schema.repeated and not missing:
                missing = [(schema.first, schema.migrations[0])]
            for _, script in missing:
                connection.execute(schema_of(script))
            connection.execute("UPDATE smoothdp_state SET version = %s", (schema.number,))

    def _connected(self) -> psycopg.Connection[Row]:
        """Return the connection; a new one if the last was lost."""
        if self._connection is None or self._connection.closed:
            if self._connection is not None:
                self._connection.close()
            try:
                connection = psycopg.connect(self._address, autocommit=True)
            except (psycopg.OperationalError, psycopg.ProgrammingError) as error:
                raise not_connected(error) from None
            # A snapshot must be taken after the writers' lock, so one for each statement.
            connection.isolation_level = psycopg.IsolationLevel.READ_COMMITTED
            connection.adapters.register_loader("numeric", _WholeNumber)
            connection.execute("SET synchronous_commit TO on")
            connection.execute(
                sql.SQL("SET lock_timeout TO {}").format(sql.Literal(round(1000 * self._busy)))
            )
            self._connection = connection
        return self._connection

    @contextmanager
    def transaction(self) -> Iterator[Transaction]:
        """Run statements that take effect together and are on disk afterwards."""
        with self._lock:
            connection = self._connected()
            try:
                with connection.transaction():
                    connection.execute(_LOCK)
                    yield _PostgresTransaction(connection, self._keys)
            except errors.DiskFull as error:
                raise StorageFull(str(error)) from error
            except errors.LockNotAvailable as error:
                raise StorageLocked(
                    expected="the database to be free",
                    got="locked by another process",
                    remedy="See which one writes to it (pg_stat_activity), and end that",
                ) from error
            except psycopg.OperationalError as error:
                raise lost_or_same(connection, error) from None

    def read(self, statement: str, values: Sequence[Any] = ()) -> list[Row]:
        """Return rows of committed state."""
        with self._lock:
            connection = self._connected()
            try:
                cursor = connection.execute(statement_of(statement), values)
                return opened(cursor, self._keys)
            except psycopg.OperationalError as error:
                raise lost_or_same(connection, error) from None

    def read_many(self, statement: str, rows: Iterable[Sequence[Any]]) -> list[list[Row]]:
        """Return rows of committed state, for each row of values."""
        with self._lock:
            connection = self._connected()
            try:
                return answers(connection, statement, list(rows), self._keys)
            except psycopg.OperationalError as error:
                raise lost_or_same(connection, error) from None

    def forget(self) -> bool:
        """Erase the keys of rows that are gone: what the server still has of them says nothing."""
        with self._lock:
            connection = self._connected()
            # Keys are made and erased under the same lock, so none that is in use is erased.
            with connection.transaction():
                connection.execute(_LOCK)
                done = [scope for scope in self._keys.scopes() if not is_live(connection, scope)]
                return self._keys.erase(done)

    def close(self) -> None:
        """Close the connection and the key file."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()
            self._keys.close()


def _require_empty(connection: psycopg.Connection[Row], schema: Schema) -> None:
    """Raise InvalidData where tables by our names belong to somebody else."""
    query = "SELECT tablename FROM pg_tables WHERE schemaname = current_schema()"
    taken = {str(row[0]) for row in connection.execute(query).fetchall()} & schema.tables()
    if taken:
        raise InvalidData(
            expected="a database or schema of its own",
            got=f"one with a table {min(taken)} of something else",
            remedy="Make one with createdb, or name a schema in the address",
        )


def scope_name(table: str, values: Sequence[Any]) -> bytes:
    """Return the name of the key of what is deleted together.

    >>> scope_name("pending", [b"\\x01", 7])
    b'pending:01:7'
    """
    parts = [str(v) if isinstance(v, int) else bytes(v).hex() for v in values]
    return ":".join([table, *parts]).encode()


def is_live(connection: psycopg.Connection[Row], scope: bytes) -> bool:
    """Whether any row that is sealed with the key of a scope is still there."""
    table, *values = scope.decode().split(":")
    hidden, columns = HIDDEN[table]
    query = sql.SQL("SELECT EXISTS (SELECT 1 FROM {} WHERE {} IS NOT NULL AND {})").format(
        sql.Identifier(table),
        sql.Identifier(hidden),
        sql.SQL(" AND ").join(sql.SQL("{} = %s").format(sql.Identifier(c)) for c in columns),
    )
    named = [
        bytes.fromhex(value) if column.endswith("_id") else int(value)
        for column, value in zip(columns, values, strict=True)
    ]
    row = connection.execute(query, named).fetchone()
    return bool(row and row[0])


def opened(cursor: psycopg.Cursor[Row], keys: ErasableKeys) -> list[Row]:
    """Return the rows of a cursor, sealed values opened."""
    if cursor.description is None:
        return []
    return [
        tuple(keys.open(v) if isinstance(v, bytes) else v for v in row) for row in cursor.fetchall()
    ]


def answers(
    connection: psycopg.Connection[Row],
    statement: str,
    rows: Sequence[Sequence[Any]],
    keys: ErasableKeys,
) -> list[list[Row]]:
    """Return the rows of a statement for each row of values, in one exchange with the server."""
    if not rows:
        return []
    cursor = connection.cursor()
    cursor.executemany(statement_of(statement), rows, returning=True)
    row_sets = [opened(cursor, keys)]
    while cursor.nextset():
        row_sets.append(opened(cursor, keys))
    return row_sets


# ---- what PostgreSQL refuses, in words, each with what to do


def not_connected(error: Exception) -> StorageUnreachable:
    """Return why there is no connection."""
    refusal = _first_line(error)
    remedy = "Check the address, and that the server runs"
    if "password" in refusal or "authentication" in refusal:
        remedy = "Check the role, and its password in PGPASSWORD or ~/.pgpass"
    elif "does not exist" in refusal:
        remedy = "Make it with createdb or createuser, or check the address"
    return StorageUnreachable(
        expected="an answer of the PostgreSQL server", got=refusal, remedy=remedy
    )


def not_prepared(error: psycopg.Error) -> SmoothdpError:
    """Return why the tables could not be made."""
    remedy = "Give the service a database, or a schema, of its own"
    if isinstance(error, errors.InsufficientPrivilege):
        remedy = "Run: GRANT CREATE ON SCHEMA ... TO the role, or give it a schema of its own"
    elif isinstance(error, errors.InvalidSchemaName | errors.UndefinedTable):
        remedy = "Make the schema, or check search_path in the address"
    elif isinstance(error, errors.ReadOnlySqlTransaction):
        remedy = "Give the address of the server that is written to"
    elif isinstance(error, psycopg.OperationalError):
        return not_connected(error)
    return InvalidData(
        expected="a place where tables can be made", got=_first_line(error), remedy=remedy
    )


def lost_or_same(connection: psycopg.Connection[Row], error: psycopg.OperationalError) -> Exception:
    """Return StorageUnreachable if the connection is gone, else the error itself.

    A commit that was under way may have happened: whoever asked asks again, and is answered
    as any repeated request is.
    """
    if not connection.closed:
        return error
    return StorageUnreachable(
        expected="an answer of the PostgreSQL server",
        got="a lost connection",
        remedy="Send the request again",
    )


def _first_line(error: Exception) -> str:
    """Return the first line of what the server or the library says."""
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__
