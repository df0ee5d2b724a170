"""Brackets of smoothed delta for three or more categories (proofs/smoothed-brackets)."""
