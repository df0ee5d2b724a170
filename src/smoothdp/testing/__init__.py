"""Public tools for testing: brute-force oracles and statistical checkers."""

from smoothdp.testing.goodness_of_fit import chi_square_test, frequency_test

__all__ = ["chi_square_test", "frequency_test"]
