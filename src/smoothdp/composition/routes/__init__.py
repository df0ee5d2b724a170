"""Ways to compose laws of privacy losses, each with stated rounding."""
