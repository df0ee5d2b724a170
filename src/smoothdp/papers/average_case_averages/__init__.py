"""Paper 2, Average-Case Averages: figures, recomputed."""
