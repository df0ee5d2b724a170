"""What a shuffler keeps: no address, no agent, no time finer than the window, no order.

The names of senders and reports in ``pending`` are tags under the window's own key, which goes
with the window: rows that a database server keeps beyond their deletion say nothing.
"""

from __future__ import annotations

from smoothdp.services.formats.secrets import TAG_BYTES, tag
from smoothdp.services.store.migrations import Schema
from smoothdp.services.store.revoked import REVOKED_TABLE
from smoothdp.services.store.storage import Storage

OFFERED, SIGNED, GIVEN = "OFFERED", "SIGNED", "GIVEN"
"""A gateway key was stored; the card was signed; the analyser has the signature."""
OPEN, SEALED, EXPIRED = "OPEN", "SEALED", "EXPIRED"
DELIVERED, PURGED, DROPPED = "DELIVERED", "PURGED", "DROPPED"
"""Of a batch: the analyser has it; its bytes are gone; they went without the analyser."""
SHARED = "shared"
"""Reports that were left out because a slot of theirs was in another one."""

_FIRST = """
CREATE TABLE IF NOT EXISTS card (
  task_id BLOB, window INTEGER, gateway BLOB NOT NULL, sealed_key BLOB NOT NULL, signed BLOB,
  state TEXT NOT NULL,
  PRIMARY KEY (task_id, window)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS collecting (
  task_id BLOB, window INTEGER, state TEXT NOT NULL, tag_key BLOB,
  PRIMARY KEY (task_id, window)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS pending (
  task_id BLOB, window INTEGER, sender_tag BLOB, report_id BLOB NOT NULL, slots BLOB NOT NULL,
  PRIMARY KEY (task_id, window, sender_tag),
  UNIQUE (task_id, window, report_id)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS batch (
  batch_id BLOB PRIMARY KEY, task_id BLOB NOT NULL, window INTEGER NOT NULL, state TEXT NOT NULL,
  users INTEGER NOT NULL, header BLOB NOT NULL, UNIQUE (task_id, window)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS batch_part (
  batch_id BLOB, part INTEGER, bytes BLOB NOT NULL, PRIMARY KEY (batch_id, part)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS marks (
  task_id BLOB, window INTEGER, bytes BLOB NOT NULL,
  PRIMARY KEY (task_id, window)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS counter (
  task_id BLOB, window INTEGER, reason TEXT, n INTEGER NOT NULL,
  PRIMARY KEY (task_id, window, reason)) WITHOUT ROWID;
"""
# The number of reports is kept beside the state of the window: who adds some holds that row, so
# no two add beyond the largest batch. No other index begins as the primary key of ``pending``
# does: PostgreSQL took either of two that did, and read all of a window to find one report.
_SECOND = """
ALTER TABLE collecting ADD COLUMN reports INTEGER NOT NULL DEFAULT 0;
UPDATE collecting SET reports = (SELECT count(*) FROM pending
  WHERE pending.task_id = collecting.task_id AND pending.window = collecting.window);
CREATE TABLE pending_anew (
  task_id BLOB, window INTEGER, sender_tag BLOB, report_id BLOB NOT NULL, slots BLOB NOT NULL,
  PRIMARY KEY (task_id, window, sender_tag)) WITHOUT ROWID;
INSERT INTO pending_anew SELECT task_id, window, sender_tag, report_id, slots FROM pending;
DROP TABLE pending;
ALTER TABLE pending_anew RENAME TO pending;
CREATE UNIQUE INDEX pending_report ON pending (report_id, window, task_id);
"""
SHUFFLER_SCHEMA = Schema((_FIRST, _SECOND, REVOKED_TABLE), first=2)
"""Version 1 had the tables of esa/1, from which nothing leads here."""


def name_by_tags(storage: Storage) -> None:
    """Give reports of a program before, which are named by their ids, the tags that are used now.

    Else a repeated one would be another one under its pass, and new under any other pass.
    """
    found = "SELECT {} FROM pending WHERE length(report_id) <> ?"
    if not storage.read(f"{found.format('1')} LIMIT 1", (TAG_BYTES,)):
        return
    with storage.transaction() as change:
        keys = {
            (bytes(task_id), int(window)): bytes(key)
            for task_id, window, key in change.execute(
                "SELECT task_id, window, tag_key FROM collecting WHERE state = ?", (OPEN,)
            )
        }
        columns = "task_id, window, sender_tag, report_id"
        rows = change.execute(found.format(columns), (TAG_BYTES,))
        change.change_many(
            "UPDATE pending SET report_id = ? WHERE task_id = ? AND window = ? AND sender_tag = ?",
            [
                (tag(keys[bytes(task_id), int(window)], bytes(name)), task_id, window, sender)
                for task_id, window, sender, name in rows
            ],
        )
        change.rewrite("pending")
    storage.forget()
