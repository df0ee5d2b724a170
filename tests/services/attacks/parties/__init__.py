"""Attacks of parties: what each can do to the others and to users, and what is counted."""
