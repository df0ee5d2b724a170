"""What PostgreSQL refuses, in words, each with what to do."""

from __future__ import annotations

import psycopg
from psycopg import errors

from smoothdp.errors import InvalidData, SmoothdpError
from smoothdp.services.storage import StorageUnreachable

Connection = psycopg.Connection[tuple[object, ...]]


def not_connected(error: Exception) -> StorageUnreachable:
    """Return why there is no connection."""
    found = reason(error)
    remedy = "Check the address, and that the server runs"
    if "password" in found or "authentication" in found:
        remedy = "Check the role, and its password in PGPASSWORD or ~/.pgpass"
    elif "does not exist" in found:
        remedy = "Make it with createdb or createuser, or check the address"
    return StorageUnreachable(
        expected="an answer of the PostgreSQL server", got=found, remedy=remedy
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
        expected="a place where tables can be made", got=reason(error), remedy=remedy
    )


def lost_or_same(connection: Connection, error: psycopg.OperationalError) -> Exception:
    """Return StorageUnreachable if the connection is gone, else the error itself.

    A commit that was under way may have happened: whoever asked asks again, and is answered
    as any repeated request is.
    """
    if not connection.closed:
        return error
    return StorageUnreachable(
        expected="an answer of the PostgreSQL server", got="a lost connection", remedy="Try again"
    )


def reason(error: Exception) -> str:
    """Return the first line of what the server or the library says."""
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__
