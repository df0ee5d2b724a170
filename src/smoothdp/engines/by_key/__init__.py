"""Tables by key from data that are in many places."""

from smoothdp.engines.by_key.release_table import release_table

__all__ = ["release_table"]
