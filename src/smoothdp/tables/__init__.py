"""Tables: statistics of every group of a file, under one guarantee."""

from smoothdp.tables.person import Person
from smoothdp.tables.release_table import release_table
from smoothdp.tables.released_table import ReleasedTable

__all__ = ["Person", "ReleasedTable", "release_table"]
