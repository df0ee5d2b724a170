"""Gaussian and Laplace noise of a fixed scale, as mechanisms that the accountant composes."""
