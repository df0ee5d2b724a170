"""The analyser of the second protocol: cards within the budget, genuine batches, a release rule."""
