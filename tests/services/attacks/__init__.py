"""Attacks by those who had read the threat model alone, round after round."""
