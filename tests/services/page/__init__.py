"""The poll page: its client, its routes, and browsers."""
