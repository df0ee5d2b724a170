"""Attacks of a hostile referee; those that broke something are xfail until it is mended."""
