"""Quantiles by other ways than one window with noise."""
