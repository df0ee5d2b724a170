"""delta of a histogram with three or more categories, by one walk along the boundary."""
