"""Attacks by a referee who had not read the library: its claims against brute force."""
