"""Frequent strings of a domain that nobody can list: prefixes, level by level."""
