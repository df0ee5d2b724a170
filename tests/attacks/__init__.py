"""Attacks on `release`, `plan`, `measure` and the ledger by a hostile referee."""
