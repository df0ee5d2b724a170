"""Numbered migrations: a file or database says which tables it has, and is brought up to date.

Migration i takes tables of number i - 1 to number i, in SQL that both databases take. Those that
are missing run in order in one transaction, with the new number; a file of a later program, or
of an earlier protocol that no migration leads from, is refused in words and left as it is.
"""

from __future__ import annotations

import re
import sqlite3
from dataclasses import dataclass

from smoothdp.errors import InvalidData


@dataclass(frozen=True, slots=True)
class Schema:
    """The tables of a service, as the migrations that make them.

    Attributes:
        migrations: SQL scripts; the first makes the tables of number ``first``, each other one
            changes those of the number before.
        first: the number after the first script. Above 1 where an earlier protocol had tables
            that cannot be used any more.
        repeated: whether the first script runs at every start; it then must not mind tables
            that are there.

    >>> schema = Schema(("CREATE TABLE box (item TEXT);", "ALTER TABLE box ADD COLUMN n INTEGER;"))
    >>> schema.number
    2
    >>> schema.missing(1, "box.sqlite")
    [(2, 'ALTER TABLE box ADD COLUMN n INTEGER;')]
    >>> schema.missing(3, "box.sqlite")
    Traceback (most recent call last):
        ...
    smoothdp.errors.InvalidData: Expected box.sqlite with tables of version 2 at most; ...
    """

    migrations: tuple[str, ...]
    first: int = 1
    repeated: bool = False

    @classmethod
    def of(cls, schema: Schema | str) -> Schema:
        """Return a schema; a text is one script that may run at every start.

        >>> Schema.of("CREATE TABLE IF NOT EXISTS box (item TEXT);").number
        1
        """
        return schema if isinstance(schema, Schema) else cls((schema,), repeated=True)

    @property
    def number(self) -> int:
        """The number of the tables that this program works with."""
        return self.first + len(self.migrations) - 1

    def missing(self, number: int, where: str) -> list[tuple[int, str]]:
        """Return (number afterwards, script) of what a file of a number lacks; 0: a new file.

        Raises:
            InvalidData: a later number, or one from before the first.
        """
        if number > self.number:
            raise InvalidData(
                expected=f"{where} with tables of version {self.number} at most",
                got=f"version {number}",
                remedy="Upgrade smoothdp, or go back to a copy from before its upgrade",
            )
        if 0 < number < self.first:
            raise InvalidData(
                expected=f"{where} with tables of version {self.first} at least",
                got=f"version {number}, of an earlier protocol",
                remedy="Finish its windows with the program that made it, then move it away",
            )
        scripts = list(enumerate(self.migrations, start=self.first))
        return [(n, script) for n, script in scripts if n > number]

    def tables(self, number: int | None = None) -> set[str]:
        """Return the names of the tables of a number, by default of the last.

        >>> schema = Schema(("CREATE TABLE box (item TEXT);", "CREATE TABLE lid (item TEXT);"))
        >>> sorted(schema.tables()), schema.tables(1), schema.tables(0)
        (['box', 'lid'], {'box'}, set())
        """
        made, names = r"CREATE TABLE (?:IF NOT EXISTS )?(\w+)", set[str]()
        last = self.number if number is None else number
        for script in self.migrations[: max(0, last - self.first + 1)]:
            names |= set(re.findall(made, script))
            for before, after in re.findall(r"ALTER TABLE (\w+) RENAME TO (\w+)", script):
                names = names - {before} | {after}
        return names


_NUMBER_TABLE = """
CREATE TABLE IF NOT EXISTS schema_number (
  one INTEGER PRIMARY KEY CHECK (one = 1), number INTEGER NOT NULL) WITHOUT ROWID
"""


def migrate_sqlite(connection: sqlite3.Connection, schema: Schema, where: str) -> None:
    """Bring the tables of a file up to date, in one transaction.

    The number is in a table, and in ``user_version``, where programs before this table look.

    Raises:
        InvalidData: a later number, an earlier protocol, or tables of another party; nothing is
            changed.
    """
    # All of one moment: another process may make the tables just then.
    connection.execute("BEGIN")
    try:
        found = number_of(connection)
        schema.missing(found, where)
        require_tables(connection, schema, where)
    finally:
        connection.execute("ROLLBACK")
    if found == schema.number and not schema.repeated:
        # A file that somebody else writes to can still be opened.
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        # Another process may have been first.
        missing = schema.missing(number_of(connection), where)
        if schema.repeated and not missing:
            missing = [(schema.first, schema.migrations[0])]
        connection.execute(_NUMBER_TABLE)
        for number, script in missing:
            for statement in statements(script):
                connection.execute(statement)
            connection.execute(
                "INSERT INTO schema_number (one, number) VALUES (1, ?) "
                "ON CONFLICT (one) DO UPDATE SET number = excluded.number",
                (number,),
            )
            connection.execute(f"PRAGMA user_version={number}")
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def require_tables(connection: sqlite3.Connection, schema: Schema, where: str) -> None:
    """Raise InvalidData unless a file has the schema's tables of its number.

    The file of another party has a number too.
    """
    # In this order: with its number a file has got its tables.
    tables = schema.tables(number_of(connection))
    found = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
    missing = sorted(tables - {str(name) for (name,) in found})
    if missing:
        raise InvalidData(
            expected=f"{where} with the table {missing[0]}",
            got="none of this name: another program's file, or another party's",
            remedy="Give the directory that this party serves from",
        )


def number_of(connection: sqlite3.Connection) -> int:
    """Return the number of a file's tables; 0 if it has none."""
    version = int(connection.execute("PRAGMA user_version").fetchone()[0])
    known = connection.execute(
        "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'schema_number'"
    ).fetchone()
    rows = connection.execute("SELECT number FROM schema_number").fetchall() if known else []
    return max(version, *(int(row[0]) for row in rows), 0)


def statements(script: str) -> list[str]:
    """Return the statements of a script: SQLite's own splitting would commit in between.

    >>> statements("CREATE TABLE a (x TEXT DEFAULT ';'); DROP TABLE b;")
    ["CREATE TABLE a (x TEXT DEFAULT ';');", 'DROP TABLE b;']
    """
    found, start = [], 0
    for match in re.finditer(";", script):
        piece = script[start : match.end()]
        if sqlite3.complete_statement(piece):
            found.append(piece.strip())
            start = match.end()
    rest = script[start:].strip()
    return [*found, rest] if rest else found
