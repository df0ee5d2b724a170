"""Arithmetic and randomness one can trust: no privacy words in here.

Everything above this floor gets its certified numbers here, and this is the only
folder that imports flint.
"""
