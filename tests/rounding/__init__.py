"""Tests that need the slack: seeded cases in which rounding to nearest would break a bound.

Each goes with mutants of `tests/mutants/lists` without the slack, and fails on them. The truth
comes from exact rationals, or from balls of 300 bits that share no code with the library.
"""
