"""The arguments of a table, read and checked one by one."""
