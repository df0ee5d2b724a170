"""Balls, which hold a number for certain: special functions, integrals, roundings outwards."""
