"""Histograms of a sample: exact divergences, one database or many, and the utility."""
