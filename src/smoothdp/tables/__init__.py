"""Tables: statistics of every group of a file, under one guarantee."""

from smoothdp.tables.release_table import release_table
from smoothdp.tables.released_table import ReleasedTable
from smoothdp.tables.spec import TableSpec
from smoothdp.tables.table_check import TableCheck

__all__ = ["ReleasedTable", "TableCheck", "TableSpec", "release_table"]
