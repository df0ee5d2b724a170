"""The base of every mechanism that samples: counts, draws, finite laws."""
