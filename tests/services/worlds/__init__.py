"""Parties and people for tests: in one process, on loopback, or in threads."""
