"""The issuer: cards and tokens for people, a key per window beside the list of who asked."""
