"""Several quantiles under pure DP: joint PolyPlace noise, and the joint exponential mechanism."""
