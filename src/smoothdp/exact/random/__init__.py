"""Entropy, and samplers that are exact.

Reals are drawn lazily (`lazy`): a draw Z of a continuous law is a function of uniform numbers
whose bits are drawn only as far as the answer needs them. What is known so far is a ball around
Z; it is refined until all its points round to the same whole number. The result is the ideal
real number, correctly rounded: no float is ever drawn.
"""
