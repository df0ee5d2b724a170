"""What a plan shows: as JSON, in words, in figures."""
