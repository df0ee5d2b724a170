"""Attacks from the claims alone, by brute force that shares no code with the library."""
