"""The second protocol of the services: cards per window, tokens, one report a person."""
