"""Mutants of the code that makes a float a bound, and what kills them (`make mutants`)."""
