"""Probabilities of counts as logarithms with a bound of the error: points, windows, tails."""
