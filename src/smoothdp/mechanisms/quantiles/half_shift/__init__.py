"""The half-shift release: one hidden shift of half ranks, then independent noise."""
