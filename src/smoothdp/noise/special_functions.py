"""scipy.special, loaded on first use: who measures or collects never waits for it."""

from __future__ import annotations

from typing import Any


def __getattr__(name: str) -> Any:
    import scipy.special

    return getattr(scipy.special, name)
