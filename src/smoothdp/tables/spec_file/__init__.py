"""The file that describes a table: its keys, its statistics, and what they are called."""
