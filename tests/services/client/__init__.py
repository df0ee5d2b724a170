"""The client: what it stores before it sends, and what it finds afterwards."""
