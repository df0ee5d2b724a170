"""Columns and tables of data: from CSV with the standard library, from Parquet and frames with an
extra."""

from smoothdp.data.columns import count_column, read_column
from smoothdp.data.csv_format import CsvFormat
from smoothdp.data.read_table import count_rows
from smoothdp.data.refusals import reason

__all__ = ["CsvFormat", "count_column", "count_rows", "read_column", "reason"]
