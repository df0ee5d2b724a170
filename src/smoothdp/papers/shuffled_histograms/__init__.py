"""Paper 3, histograms in the shuffle model: Table 1 with measured constants."""
