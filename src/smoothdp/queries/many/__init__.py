"""Several quantiles at once, and windows of doubled data that half a rank can move."""
