"""Scopes of what is sealed in PostgreSQL: their names, and whether a row of one is there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from smoothdp.errors import MissingExtra
from smoothdp.services.store.postgres_dialect import HIDDEN, USED_WHILE
from smoothdp.services.store.storage import Row

try:
    import psycopg
    from psycopg import sql
except ImportError:
    raise MissingExtra("storage in PostgreSQL", "postgres") from None


def scope_name(table: str, values: Sequence[Any]) -> bytes:
    """Return the name of the key of what is deleted together.

    >>> scope_name("pending", [b"\\x01", 7])
    b'pending:01:7'
    """
    parts = [str(v) if isinstance(v, int) else bytes(v).hex() for v in values]
    return ":".join([table, *parts]).encode()


def is_live(connection: psycopg.Connection[Row], scope: bytes) -> bool:
    """Whether a row that is sealed with the key of a scope is there, or may be added still."""
    table, *values = scope.decode().split(":")
    hidden, columns = HIDDEN[table]
    matching = sql.SQL(" AND ").join(sql.SQL("{} = %s").format(sql.Identifier(c)) for c in columns)
    query = sql.SQL("SELECT EXISTS (SELECT 1 FROM {} WHERE {} IS NOT NULL AND {})").format(
        sql.Identifier(table), sql.Identifier(hidden), matching
    )
    named = [
        bytes.fromhex(value) if column.endswith("_id") else int(value)
        for column, value in zip(columns, values, strict=True)
    ]
    if bool((connection.execute(query, named).fetchone() or (False,))[0]):
        return True
    if table not in USED_WHILE:
        return False
    other, state = USED_WHILE[table]
    query = sql.SQL("SELECT EXISTS (SELECT 1 FROM {} WHERE state = {} AND {})").format(
        sql.Identifier(other), sql.Literal(state), matching
    )
    return bool((connection.execute(query, named).fetchone() or (False,))[0])
