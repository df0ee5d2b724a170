"""The formats and tokens of the second protocol, held to vectors of other implementations."""
