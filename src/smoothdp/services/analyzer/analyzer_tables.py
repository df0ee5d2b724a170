"""What an analyser keeps: cards, batches, tallies, results. Charges are in `task_ledger`."""

from __future__ import annotations

from smoothdp.services.store.migrations import Schema

HALF, MADE, SIGNED, OVER = "HALF", "MADE", "SIGNED", "OVER"
"""Of a card: a key is missing; without the shuffler's signature; with it; its window has ended."""
RECEIVING, COMPLETE, COUNTED = "RECEIVING", "COMPLETE", "COUNTED"
RELEASED, REFUSED, QUARANTINED = "RELEASED", "REFUSED", "QUARANTINED"
ENDS = (RELEASED, REFUSED, QUARANTINED)
"""States of a batch that no statement leaves."""

_FIRST = """
CREATE TABLE IF NOT EXISTS card (
  task_id BLOB, window INTEGER, gateway BLOB, spki BLOB, card BLOB, digest BLOB UNIQUE,
  sealed_key BLOB, signed BLOB, state TEXT NOT NULL,
  PRIMARY KEY (task_id, window)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS batch (
  batch_id BLOB PRIMARY KEY, task_id BLOB NOT NULL, window INTEGER NOT NULL,
  header BLOB NOT NULL, state TEXT NOT NULL, reason TEXT NOT NULL DEFAULT '',
  marks_hash BLOB, body BLOB, UNIQUE (task_id, window)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS part (
  batch_id BLOB, part INTEGER, bytes BLOB, counted INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (batch_id, part)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS tally (
  batch_id BLOB, part INTEGER, value INTEGER, n INTEGER NOT NULL,
  PRIMARY KEY (batch_id, part, value)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS served (
  task_id BLOB, window INTEGER, statement BLOB NOT NULL,
  PRIMARY KEY (task_id, window)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS release (
  task_id BLOB, window INTEGER, body BLOB NOT NULL,
  PRIMARY KEY (task_id, window)) WITHOUT ROWID;
"""
_SECOND = """
CREATE TABLE IF NOT EXISTS counts (
  batch_id BLOB, part INTEGER, bytes BLOB, PRIMARY KEY (batch_id, part)) WITHOUT ROWID;
"""
"""What was counted of a part is one value, which PostgreSQL gets sealed: of a part of one slot it
is the answer. Rows in `tally` are those of a program before."""
ANALYZER_SCHEMA = Schema((_FIRST, _SECOND), first=2)
"""Version 1 had the tables of esa/1, from which nothing leads here."""
