"""What an issuer keeps, all of it in one SQLite file without copies.

``issued`` and the key that signs lie in one file: an older copy of the one beside the other
would give a person a second draw. A key whose row is gone is never made again.
"""

from __future__ import annotations

from smoothdp.services.store.migrations import Schema
from smoothdp.services.store.revoked import REVOKED_TABLE

OPEN, CLOSED = "OPEN", "CLOSED"

_FIRST = """
CREATE TABLE IF NOT EXISTS card (
  task_id BLOB, window INTEGER, digest BLOB NOT NULL, signed BLOB NOT NULL,
  PRIMARY KEY (task_id, window)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS window_key (
  task_id BLOB, window INTEGER, spki BLOB NOT NULL, secret BLOB, tag_key BLOB,
  state TEXT NOT NULL, PRIMARY KEY (task_id, window)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS issued (
  task_id BLOB, window INTEGER, account_tag BLOB, request_hash BLOB NOT NULL,
  answers INTEGER NOT NULL, PRIMARY KEY (task_id, window, account_tag)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS served (
  task_id BLOB, window INTEGER, statement BLOB NOT NULL, sent INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (task_id, window)) WITHOUT ROWID;
"""
ISSUER_SCHEMA = Schema((_FIRST, REVOKED_TABLE), first=2)
"""The number that the tables of all parties begin with: esa/1 had no issuer."""
