"""Public tools for testing: brute-force oracles and statistical checkers."""
