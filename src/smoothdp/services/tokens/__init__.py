"""Tokens that say "one account asked for this slot" and not which: blind RSA, RFC 9474 and 9578."""
