"""Tables: statistics of every group of a file, under one guarantee."""

from smoothdp.tables.person import Person
from smoothdp.tables.release_table import release_table
from smoothdp.tables.released_table import ReleasedTable
from smoothdp.tables.spec_file.key_file import plain_labels, read_key_file
from smoothdp.tables.spec_file.named_statistics import NAMED, named_statistic
from smoothdp.tables.spec_file.table_spec import TableSpec
from smoothdp.tables.table_check import TableCheck

__all__ = [
    "NAMED",
    "Person",
    "ReleasedTable",
    "TableCheck",
    "TableSpec",
    "named_statistic",
    "plain_labels",
    "read_key_file",
    "release_table",
]
