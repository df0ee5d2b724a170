"""Windows of order statistics on one column: what is sorted, summed and taken beyond their ends."""
