"""Paper 1, Smoothed Differential Privacy: figures and tables, recomputed."""
