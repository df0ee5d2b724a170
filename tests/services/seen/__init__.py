"""What each party, each wire and each disk sees, and what the law of results gives away."""
