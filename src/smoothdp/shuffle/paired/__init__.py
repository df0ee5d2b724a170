"""Sums and histograms by cancelling pairs: signs that hide who sent them, and cost no accuracy."""
