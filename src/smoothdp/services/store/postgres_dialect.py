"""The services' SQL as PostgreSQL wants it, and which of its columns must be forgettable."""

from __future__ import annotations

import re
from functools import lru_cache

HIDDEN = {
    "collecting": ("tag_key", ("task_id", "window")),
    "pending": ("slots", ("task_id", "window")),
    "batch_part": ("bytes", ("batch_id",)),
    "part": ("bytes", ("batch_id",)),
    "counts": ("bytes", ("batch_id",)),
}
"""Table -> the column whose deleted values must be unreadable, and the columns that name what
is deleted together."""

USED_WHILE = {"pending": ("collecting", "OPEN")}
"""Table -> the table with a row of the same names, and the state of that row in which rows are
added without the writers' lock."""

_TYPES = (("BLOB", "BYTEA"), ("INTEGER", "BIGINT"), (" WITHOUT ROWID", ""))
_INSERT = re.compile(r"^INSERT INTO (\w+)(?: \(([^)]*)\))?")
_IGNORE = "INSERT OR IGNORE INTO"


@lru_cache(maxsize=256)
def statement_of(statement: str) -> str:
    """Return a statement with PostgreSQL's marks, names and way to ignore what is there.

    >>> statement_of("INSERT OR IGNORE INTO t (window, n) VALUES (?, ?)")
    'INSERT INTO t ("window", n) VALUES (%s, %s) ON CONFLICT DO NOTHING'
    """
    if statement.startswith(_IGNORE):
        statement = statement.replace(_IGNORE, "INSERT INTO", 1) + " ON CONFLICT DO NOTHING"
    return _quoted(statement).replace("?", "%s")


def schema_of(schema: str) -> str:
    """Return statements that make tables, with PostgreSQL's types.

    >>> schema_of("CREATE TABLE IF NOT EXISTS t (k BLOB PRIMARY KEY, n INTEGER) WITHOUT ROWID;")
    'CREATE TABLE IF NOT EXISTS t (k BYTEA PRIMARY KEY, n BIGINT);'
    """
    for theirs, ours in _TYPES:
        schema = schema.replace(theirs, ours)
    return _quoted(schema)


_ARRAYS = {bytes: "bytea[]", int: "bigint[]", str: "text[]"}


@lru_cache(maxsize=64)
def adding(statement: str, types: tuple[type, ...], *names: int) -> str:
    """Return one statement that adds a group of rows, whose values are one list for each column.

    What was added is returned by its names.

    >>> print(adding("INSERT OR IGNORE INTO t (k, n) VALUES (?, ?)", (bytes, int), 0))
    INSERT INTO t (k, n) SELECT added.* FROM unnest(%s::bytea[], %s::bigint[]) added
    ON CONFLICT DO NOTHING RETURNING k
    """
    insert = _INSERT.match(statement.replace(_IGNORE, "INSERT INTO", 1))
    if insert is None or insert[2] is None:
        raise ValueError("an INSERT that names its columns is added to")
    columns = [name.strip() for name in insert[2].split(",")]
    lists = ", ".join(f"%s::{_ARRAYS[kind]}" for kind in types)
    return (
        f"INSERT INTO {insert[1]} ({_quoted(insert[2])}) "
        f"SELECT added.* FROM unnest({lists}) added\n"
        f"ON CONFLICT DO NOTHING RETURNING {_quoted(', '.join(columns[i] for i in names))}"
    )


@lru_cache(maxsize=256)
def hidden_place(statement: str) -> tuple[str, int, tuple[int, ...]] | None:
    """Return (table, index of the value to seal, indices that name its scope) of an INSERT.

    >>> hidden_place("INSERT INTO part (batch_id, part, bytes) VALUES (?, ?, ?)")
    ('part', 2, (0,))
    >>> hidden_place("INSERT INTO seen (key_id, envelope_id) VALUES (?, ?)") is None
    True
    """
    insert = _INSERT.match(statement.replace(_IGNORE, "INSERT INTO", 1))
    if insert is None or insert[1] not in HIDDEN:
        return None
    if insert[2] is None:
        raise ValueError(f"an INSERT into {insert[1]} must name its columns")
    columns = [name.strip() for name in insert[2].split(",")]
    column, scope = HIDDEN[insert[1]]
    # A value that the statement itself gives as NULL, or leaves out, needs no seal.
    index = columns.index(column) if column in columns else len(columns)
    if index >= statement.count("?"):
        return None
    return insert[1], index, tuple(columns.index(name) for name in scope)


def _quoted(text: str) -> str:
    # The one name of a column that PostgreSQL keeps for itself.
    return re.sub(r"(?<![\w\"])window(?![\w\"])", '"window"', text)
