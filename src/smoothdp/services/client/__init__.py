"""The parties outside: a user's client that sends, and a collector that asks for results."""
