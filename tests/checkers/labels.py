"""Names of test cases that are the same in every process: several workers collect them."""

from __future__ import annotations

import re


def label(value: object) -> str:
    """Return a text for a parameter, without addresses; a law of scipy by its name."""
    law = getattr(value, "dist", None)
    if law is not None and hasattr(value, "ppf"):
        return str(law.name)
    return re.sub(r"(<function )?(\S+) at 0x[0-9a-f]+>?", r"\2", str(value))
