"""Attacks on users: their devices, their clients, what they are told, the poll page."""
