"""A release at smooth sensitivity: its laws, its grid, and defaults that see no data."""
