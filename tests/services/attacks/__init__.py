"""Attacks by those who had read the threat model alone; each file has one subject."""
