"""A collection in one call: shares and means, histograms, and what they have in common."""
