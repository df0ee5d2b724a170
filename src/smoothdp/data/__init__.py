"""Columns of data: from CSV with the standard library, from Parquet with an extra."""

from smoothdp.data.columns import count_column, read_column
from smoothdp.data.refusals import reason

__all__ = ["count_column", "read_column", "reason"]
