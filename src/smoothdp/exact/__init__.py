"""Arithmetic and randomness one can trust: no privacy words in here.

Everything above this floor gets its certified numbers here, and this is the only
folder that imports flint.
"""

from smoothdp.exact.parameters import exact_real, sign

__all__ = ["exact_real", "sign"]
