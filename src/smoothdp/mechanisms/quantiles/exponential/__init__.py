"""The exponential mechanism on ranks, over the reals: its cells, its sampler, its constants."""
