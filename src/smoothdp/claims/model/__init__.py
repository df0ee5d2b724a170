"""What is assumed about data: the set of distributions of smoothed DP."""
