"""One collection in one engine: rows marked and noise named first, then every protocol's result."""
