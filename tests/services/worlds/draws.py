"""What a client keeps of one draw."""

from __future__ import annotations

from typing import Any

DRAW: dict[str, Any] = {"card_digest": b"digest", "slots": b"1" * 5000, "seed": b"seed" * 8}
