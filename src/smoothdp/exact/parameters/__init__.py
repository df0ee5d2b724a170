"""Parameters of callers: exact rationals and logarithms of rationals, read once and kept."""
