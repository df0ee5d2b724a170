"""What PostgreSQL refuses, in words, each with what to do."""

from __future__ import annotations

import re

from smoothdp.errors import InvalidData, MissingExtra, SmoothdpError
from smoothdp.services.store.storage import Row, StorageLocked, StorageUnreachable

try:
    import psycopg
    from psycopg import errors
except ImportError:
    raise MissingExtra("storage in PostgreSQL", "postgres") from None


def not_connected(error: Exception, address: str = "") -> StorageUnreachable:
    """Return why there is no connection; nothing of the password in an address."""
    refusal = _first_line(error)
    if any(piece in refusal for piece in _secret_pieces(address)):
        refusal = "an address that cannot be read: a sign in its password wants writing as %.."
    remedy = "Check the address, and that the server runs"
    if "password" in refusal or "authentication" in refusal:
        remedy = "Check the role, and its password in PGPASSWORD or ~/.pgpass"
    elif "does not exist" in refusal:
        remedy = "Make it with createdb or createuser, or check the address"
    return StorageUnreachable(
        expected="an answer of the PostgreSQL server", got=refusal, remedy=remedy
    )


def _secret_pieces(address: str) -> list[str]:
    """Return what stands behind the user in an address, as libpq may cut it.

    >>> _secret_pieces("postgresql://user:one%two@host/db"), _secret_pieces("postgresql://host/db")
    (['one', 'two'], [])
    """
    named = address.partition("://")[2].rpartition("@")[0].partition(":")[2]
    return [piece for piece in re.split(r"[:/@%?#&=\[\] ]", named) if len(piece) > 2]


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


def lost_or_same(connection: psycopg.Connection[Row], error: psycopg.Error) -> Exception:
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


def locked() -> StorageLocked:
    """Return that somebody else has held what is to be written for too long."""
    return StorageLocked(
        expected="the database to be free",
        got="locked by another process",
        remedy="See which one writes to it (pg_stat_activity), and end that",
    )


def only_read() -> StorageUnreachable:
    """Return that the server takes no changes, as a standby, or one that is to be one."""
    return StorageUnreachable(
        expected="a server that is written to",
        got="one that is only read",
        remedy="See which one is written to, and that the address leads there",
    )
