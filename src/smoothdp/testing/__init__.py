"""Public tools for testing: brute-force oracles, statistical checkers, and noise laws."""

from smoothdp.testing.conform import Conformance, conform
from smoothdp.testing.goodness_of_fit import chi_square_test, frequency_test

__all__ = ["Conformance", "chi_square_test", "conform", "frequency_test"]
