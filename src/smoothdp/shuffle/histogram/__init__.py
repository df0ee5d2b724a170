"""Histograms whose empty bins are exactly zero: paper 3, sections 3.1 and 3.2."""
