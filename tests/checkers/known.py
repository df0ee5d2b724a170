"""Errors that a plan tells only where something was assumed of the data."""

from __future__ import annotations


def known(error: float | None) -> float:
    """Return an error that must be there."""
    assert error is not None
    return error
