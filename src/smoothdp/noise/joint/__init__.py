"""Laws of several numbers that are drawn together."""
