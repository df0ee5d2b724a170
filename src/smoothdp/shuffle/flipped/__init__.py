"""Sums of bits that users flip: one message, or several, of which each hides a little (paper 5)."""
