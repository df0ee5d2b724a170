"""Several quantiles of one column under one guarantee."""
