"""Error bars beside a released value: what they cover, what they cost, and how they are drawn."""
