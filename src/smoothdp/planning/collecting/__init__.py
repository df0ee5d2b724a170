"""Which protocol of the shuffle model to take: offers with all their figures, and one rule."""
