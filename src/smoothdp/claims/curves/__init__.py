"""Pairs, profiles and trade-off functions: a claim as a curve."""
