"""The issuer: cards and tokens for people, one key per window, kept beside the list of who asked."""
