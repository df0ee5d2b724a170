"""What a shuffler keeps: no address, no agent, no time finer than the window, no order."""

from __future__ import annotations

OPEN, SEALED, DELIVERED, PURGED, EXPIRED = "OPEN", "SEALED", "DELIVERED", "PURGED", "EXPIRED"
ACTIVE, DESTROYED = "ACTIVE", "DESTROYED"

SHUFFLER_SCHEMA = """
CREATE TABLE IF NOT EXISTS outer_key (
  id INTEGER PRIMARY KEY, secret BLOB, public BLOB NOT NULL, state TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS collecting (
  task_id BLOB, window INTEGER, state TEXT NOT NULL, tag_key BLOB,
  PRIMARY KEY (task_id, window)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS seen (
  key_id INTEGER, envelope_id BLOB, PRIMARY KEY (key_id, envelope_id)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS quota (
  task_id BLOB, window INTEGER, sender_tag BLOB, report_tag BLOB NOT NULL,
  PRIMARY KEY (task_id, window, sender_tag)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS pending (
  task_id BLOB, window INTEGER, report_id BLOB, slots BLOB NOT NULL,
  PRIMARY KEY (task_id, window, report_id)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS batch (
  batch_id BLOB PRIMARY KEY, task_id BLOB NOT NULL, window INTEGER NOT NULL, state TEXT NOT NULL,
  users INTEGER NOT NULL, header BLOB NOT NULL, UNIQUE (task_id, window)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS batch_part (
  batch_id BLOB, part INTEGER, bytes BLOB NOT NULL, PRIMARY KEY (batch_id, part)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS counter (
  task_id BLOB, window INTEGER, reason TEXT, n INTEGER NOT NULL,
  PRIMARY KEY (task_id, window, reason)) WITHOUT ROWID;
"""
