"""Numbers kept as logarithms, with a direction: sums, differences and what they lose."""
