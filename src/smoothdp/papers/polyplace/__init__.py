"""Paper 4, PolyPlace noise: figures, recomputed."""
