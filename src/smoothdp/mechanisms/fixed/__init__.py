"""Releases of sums with noise of a fixed scale: counts, sums, means and variances."""
