"""The law of a sampled histogram, listed output by output."""
