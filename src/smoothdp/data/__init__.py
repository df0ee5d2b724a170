"""Columns of data: from CSV with the standard library, from Parquet with an extra."""

from smoothdp.data.columns import count_column, read_column

__all__ = ["count_column", "read_column"]
