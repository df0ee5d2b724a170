"""Sums by split and mix: each user sends shares that are uniform on their own."""
