"""Gaussian and Laplace noise of a fixed scale, as items of the accountant."""
