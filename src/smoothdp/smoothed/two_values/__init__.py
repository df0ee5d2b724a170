"""Smoothed delta of histograms of two categories, at any number of records."""
