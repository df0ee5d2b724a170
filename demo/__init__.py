"""Data of the demo."""
