"""Smoothed delta of histograms of more categories: by all compositions, or by proved bounds."""
