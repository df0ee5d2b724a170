"""Statistics that are functions of sums: a record moves them by a fixed amount at most."""
