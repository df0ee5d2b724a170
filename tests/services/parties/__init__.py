"""Shuffler and analyser, and all parties together."""
