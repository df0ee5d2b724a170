"""Figures. matplotlib is imported inside the calls, so it stays an extra."""
