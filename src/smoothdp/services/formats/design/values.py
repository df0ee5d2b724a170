"""What a slot holds beside the messages of a protocol."""

from __future__ import annotations

DUMMY = 0xFFFFFFFF
"""What fills an envelope up to its cap."""
INVALID = -1
"""Tallied instead of a value: a slot that does not open or means nothing."""
