"""Arithmetic and randomness one can trust, without privacy words.

Every room above gets its certified numbers from this folder, the only one that imports
flint. Its shelves, each of which imports the ones before it only: `parameters` (numbers of
callers, read exactly), `logspace` (sums with a direction), `balls`, `probabilities` (of
counts), `random` (entropy and exact samplers).
"""

from smoothdp.exact.parameters.numbers import exact_real, sign

__all__ = ["exact_real", "sign"]
