"""The issuer: its answers, its keys, its routes."""
