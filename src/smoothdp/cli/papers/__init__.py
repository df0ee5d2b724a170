"""The papers, recomputed: figures and tables, what became of each claim, and citations."""
