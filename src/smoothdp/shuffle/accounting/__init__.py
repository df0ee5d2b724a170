"""Exact privacy of the protocols: flipped bits and exchanged zeros."""
