"""The average of a sample: sums of subsets and of sequences on a grid."""
