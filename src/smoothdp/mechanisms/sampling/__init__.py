"""What every mechanism that samples shares: counts, draws, finite laws."""
