"""People by name."""

from __future__ import annotations

PEOPLE = [f"person {number}" for number in range(6)]
