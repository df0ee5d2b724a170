"""What a given number means: exact rationals and logarithms of them, read once and kept."""
