"""Arithmetic and randomness one can trust: no privacy words in here.

Everything above this floor gets its certified numbers here, and this is the only
folder that imports flint. Its shelves, each of which imports the ones before it only:
`parameters` (what a given number means), `logspace` (sums with a direction), `balls`,
`probabilities` (of counts), `random` (entropy and exact samplers).
"""

from smoothdp.exact.parameters.numbers import exact_real, sign

__all__ = ["exact_real", "sign"]
