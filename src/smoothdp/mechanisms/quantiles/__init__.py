"""Quantiles of one column, one or several at once."""
