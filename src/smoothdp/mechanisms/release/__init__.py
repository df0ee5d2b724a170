"""The parts of a release at smooth sensitivity: laws, grid, and defaults that see no data."""
