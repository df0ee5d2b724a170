"""The law of the loss of a subsampled Gaussian step: integrals along lines of the plane."""
