"""Tables by key from data that are in many places."""
