"""Paper 1 (Liu, Wang, Xia): bounds of delta of sampled histograms, and of an adversary's gain."""
