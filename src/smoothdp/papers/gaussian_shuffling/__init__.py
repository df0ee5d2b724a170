"""Paper 5, Gaussian DP of shuffling: figures and comparisons, recomputed."""
