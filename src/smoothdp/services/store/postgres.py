"""PostgreSQL behind the services. Needs the extra ``postgres``.

One transaction writes at a time, as with SQLite: an advisory lock at its start, held until
its commit is on disk. Groups of reports are added beside it, those of one window one after the
other, on a connection of their own; reading has another one, which waits for nobody. Deleted
rows stay in the server's log and pages, so what must be forgotten is sealed with keys of a file
beside (see `erasable_keys`), and `forget` erases those that are done with.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from smoothdp.errors import InvalidData, MissingExtra
from smoothdp.services.store.erasable_keys import ErasableKeys
from smoothdp.services.store.migrations import Schema
from smoothdp.services.store.postgres_connection import Line, Losses
from smoothdp.services.store.postgres_dialect import (
    adding,
    hidden_place,
    schema_of,
    statement_of,
)
from smoothdp.services.store.postgres_refusals import not_prepared
from smoothdp.services.store.postgres_scopes import is_live, scope_name
from smoothdp.services.store.storage import Row, StorageUnreachable, Transaction

try:
    import psycopg
    from psycopg import sql
except ImportError:
    raise MissingExtra("storage in PostgreSQL", "postgres") from None

_STATE = """
CREATE TABLE IF NOT EXISTS smoothdp_state (
  role TEXT PRIMARY KEY, version BIGINT NOT NULL, keys TEXT NOT NULL)
"""
_FOUND = "SELECT role, version, keys FROM smoothdp_state"
_LOCK = "SELECT pg_advisory_xact_lock('smoothdp_state'::regclass::oid::bigint)"
ROW_SECONDS = 2.0
"""How long to wait for a row that somebody holds; whoever is refused comes again."""
IDLE_SECONDS = 10.0
"""How long a group may hold its window's row without a word: then the server undoes it."""


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

    def hold(self, statement: str, values: Sequence[Any] = ()) -> list[Row]:
        wait = sql.Literal(round(1000 * ROW_SECONDS))
        self._connection.execute(sql.SQL("SET LOCAL lock_timeout TO {}").format(wait))
        return self.execute(f"{statement} FOR UPDATE", values)

    def add_many(
        self,
        statement: str,
        rows: Iterable[Sequence[Any]],
        *,
        names: Sequence[int],
    ) -> list[bool]:
        rows = list(rows)
        if not rows:
            return []
        columns = list(zip(*self._sealed_together(statement, rows), strict=True))
        query = adding(statement, tuple(type(column[0]) for column in columns), *names)
        values = [list(column) for column in columns]
        added = {tuple(row) for row in self._connection.execute(query, values).fetchall()}
        done = []
        for row in rows:
            name = tuple(row[i] for i in names)
            # Of two equal rows in one group the first was added.
            done.append(name in added)
            added.discard(name)
        return done

    def rewrite(self, table: str) -> None:
        """Do nothing: what must be forgotten is sealed, whatever the server keeps of its rows."""

    def _sealed_together(self, statement: str, rows: list[Sequence[Any]]) -> list[Sequence[Any]]:
        """Return rows with what is hidden sealed; the key of their one scope is read once."""
        hidden_value = hidden_place(statement)
        if hidden_value is None:
            return rows
        table, hidden, scope = hidden_value
        (name,) = {scope_name(table, [row[i] for i in scope]) for row in rows}
        sealed = self._keys.seal_many(name, [bytes(row[hidden]) for row in rows])
        return [
            [*row[:hidden], value, *row[hidden + 1 :]]
            for row, value in zip(rows, sealed, strict=True)
        ]

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
        losses = Losses()
        self._writing = Line(address, busy_seconds, losses)
        self._adding = Line(address, ROW_SECONDS, losses, idle_seconds=IDLE_SECONDS)
        self._reading = Line(address, busy_seconds, losses)
        try:
            self._keys = self._prepare(Schema.of(schema), role, key_file)
        except BaseException as error:
            self._close_lines()
            if isinstance(error, psycopg.Error):
                raise not_prepared(error) from None
            raise

    def _prepare(self, schema: Schema, role: str, key_file: Path) -> ErasableKeys:
        """Bring the tables up to date; return the keys, made last where there are none.

        A file of keys that is made is never removed: another process may use it by then.
        """
        connection = self._writing.connected()
        with connection.transaction():
            # Two services that start at once would both try to make the same table.
            connection.execute("SELECT pg_advisory_xact_lock(hashtext(current_schema())::bigint)")
            connection.execute(_STATE)
            connection.execute(_LOCK)
            rows = connection.execute(_FOUND).fetchall()
            keys = ErasableKeys(key_file) if key_file.exists() else None
            try:
                name = None if keys is None else keys.name
                number = _number(rows, schema, role=role, key_file=key_file, name=name)
                if not rows:
                    require_unused(key_file, [] if keys is None else keys.scopes())
                    _require_empty(connection, schema)
                missing = schema.missing(number, "the database")
                if schema.repeated and not missing:
                    missing = [(schema.first, schema.migrations[0])]
                for _, script in missing:
                    connection.execute(schema_of(script))
                if keys is None:
                    keys = ErasableKeys(key_file)
                if not rows:
                    connection.execute(
                        "INSERT INTO smoothdp_state (role, version, keys) VALUES (%s, %s, %s)",
                        (role, schema.number, keys.name),
                    )
                connection.execute("UPDATE smoothdp_state SET version = %s", (schema.number,))
            except BaseException:
                if keys is not None:
                    keys.close()
                raise
        return keys

    @contextmanager
    def transaction(self) -> Iterator[Transaction]:
        """Run statements that take effect together and are on disk afterwards."""
        with self._writing.used() as connection, connection.transaction():
            connection.execute(_LOCK)
            yield _PostgresTransaction(connection, self._keys)

    @contextmanager
    def adding(self) -> Iterator[Transaction]:
        """Run statements beside those of others; see `Storage.adding`."""
        with self._adding.used() as connection, connection.transaction():
            yield _PostgresTransaction(connection, self._keys)

    def read(self, statement: str, values: Sequence[Any] = ()) -> list[Row]:
        """Return rows of committed state, whoever writes meanwhile."""
        with self._reading.used() as connection:
            return opened(connection.execute(statement_of(statement), values), self._keys)

    def read_many(self, statement: str, rows: Iterable[Sequence[Any]]) -> list[list[Row]]:
        """Return rows of committed state, for each row of values."""
        with self._reading.used() as connection:
            return answers(connection, statement, list(rows), self._keys)

    def require_storable(self) -> None:
        """Raise StorageUnreachable unless the server answers, and takes changes.

        And what `SqliteStorage` raises of the file of keys.
        """
        self._keys.require_storable()
        try:
            self._require_changeable()
        except StorageUnreachable:
            # A server that became a standby was left: where there is another one, that is asked.
            self._require_changeable()

    def _require_changeable(self) -> None:
        # On the line that nobody holds for long.
        with self._reading.used() as connection:
            if connection.execute("SHOW transaction_read_only").fetchone() == ("on",):
                raise psycopg.errors.ReadOnlySqlTransaction

    def forget(self) -> bool:
        """Erase the keys of rows that are gone: what the server still has of them says nothing.

        Rows are written under the same lock, so no key that is in use is erased. Those that
        are added beside it rely on a row that `USED_WHILE` names: while it is there their key
        stays, and afterwards nothing more is added. The lock goes with the connection, so it is
        asked once more before keys go: of a process that was stopped, say, and cut off meanwhile,
        while another one added rows.
        """
        with self._writing.used() as connection, connection.transaction():
            connection.execute(_LOCK)
            done = [scope for scope in self._keys.scopes() if not is_live(connection, scope)]
            return self._keys.erase(done, still=lambda: connection.execute("SELECT 1"))

    def close(self) -> None:
        """Close the connections and the key file."""
        self._close_lines()
        self._keys.close()

    def _close_lines(self) -> None:
        for line in (self._reading, self._adding, self._writing):
            line.close()


def number_at(
    address: str, schema: Schema | str, *, role: str, key_file: Path, name: str | None
) -> int:
    """Return the number of the tables of a service in a database, 0 if it has none; change nothing.

    Args:
        address: as for `PostgresStorage`.
        schema: what this program works with.
        role: "shuffler" or "analyzer".
        key_file: where the erasable keys are.
        name: that the key file has; None if there is no such file.

    Raises:
        StorageUnreachable: no server there, or it refuses.
        InvalidData: a newer schema, the state of another service, or sealed with other keys.
    """
    schema = Schema.of(schema)
    with Line(address, ROW_SECONDS, Losses()).used() as connection, closing(connection):
        connection.execute("SET default_transaction_read_only TO on")
        if connection.execute("SELECT to_regclass('smoothdp_state')").fetchone() == (None,):
            _require_empty(connection, schema)
            return 0
        rows = connection.execute(_FOUND).fetchall()
        return _number(rows, schema, role=role, key_file=key_file, name=name)


def rows_at(address: str, table: str, statement: str, values: Sequence[Any]) -> list[Row]:
    """Return rows of a table in a database, none without the table; change nothing there.

    Raises:
        StorageUnreachable: no server there, or it refuses.
    """
    with Line(address, ROW_SECONDS, Losses()).used() as connection, closing(connection):
        connection.execute("SET default_transaction_read_only TO on")
        if connection.execute("SELECT to_regclass(%s)", (table,)).fetchone() == (None,):
            return []
        return connection.execute(statement_of(statement), values).fetchall()


def require_unused(key_file: Path, scopes: Sequence[bytes]) -> None:
    """Raise InvalidData where keys are kept of rows that are not in a database: in another one.

    Beside an empty database they would be erased as of rows that are gone, and the rows with them.
    """
    if scopes:
        raise InvalidData(
            expected=f"the database whose rows are sealed with the keys in {key_file}",
            got="an empty one",
            remedy="Check its address and schema. Where that database is lost, so are its windows: "
            "overwrite the file of keys (shred -u), and the party begins anew",
        )


def _number(
    rows: Sequence[Row], schema: Schema, *, role: str, key_file: Path, name: str | None
) -> int:
    """Return the number of the tables that a service has; refuse those that are not its own."""
    number = 0
    for used_by, version, keys in rows:
        if used_by != role:
            raise InvalidData(
                expected=f"a database of the {role}'s own",
                got=f"the {used_by}'s",
                remedy="Give each service a database of its own: they are two parties",
            )
        number = int(version)
        schema.missing(number, "the database")
        if keys != name:
            raise InvalidData(
                expected=f"at {key_file} the keys that the rows are sealed with",
                got="others" if name is not None else "no such file",
                remedy=(
                    "Find that file; it has no copies, so where it is lost the rows are "
                    "lost too, and an empty database begins anew"
                ),
            )
    return number


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
