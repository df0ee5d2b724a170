"""Where a party keeps its state: SQLite or PostgreSQL, and keys that can be erased."""
