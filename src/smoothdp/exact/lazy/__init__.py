"""Exact sampling of real laws: random bits are drawn only as far as the answer needs them.

A draw Z of a continuous law is a function of uniform numbers whose bits are drawn lazily. What
is known so far is a ball around Z; it is refined until all its points round to the same whole
number. The result is the ideal real number, correctly rounded: no float is ever drawn.
"""
