"""Everything on its way is counted once: replays, crashes, clocks, small batches, order."""
