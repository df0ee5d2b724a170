"""What an analyser keeps: batches, tallies of values, results. Charges are in `task_ledger`."""

from __future__ import annotations

RECEIVING, COMPLETE, COUNTED = "RECEIVING", "COMPLETE", "COUNTED"
RELEASED, REFUSED, QUARANTINED = "RELEASED", "REFUSED", "QUARANTINED"

ANALYZER_SCHEMA = """
CREATE TABLE IF NOT EXISTS batch (
  batch_id BLOB PRIMARY KEY, task_id BLOB NOT NULL, window INTEGER NOT NULL,
  header BLOB NOT NULL, state TEXT NOT NULL, reason TEXT NOT NULL DEFAULT '',
  UNIQUE (task_id, window)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS part (
  batch_id BLOB, part INTEGER, bytes BLOB, counted INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (batch_id, part)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS tally (
  batch_id BLOB, part INTEGER, value INTEGER, n INTEGER NOT NULL,
  PRIMARY KEY (batch_id, part, value)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS release (
  task_id BLOB, window INTEGER, body BLOB NOT NULL,
  PRIMARY KEY (task_id, window)) WITHOUT ROWID;
"""
