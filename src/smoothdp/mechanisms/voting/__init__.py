"""Voting rules and the law of the winner of a sample."""
