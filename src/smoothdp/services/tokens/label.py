"""What every hash, signature and seal of the protocol begins with, so that none means another."""

from __future__ import annotations


def label(use: str) -> bytes:
    """Return TAG(use), the ASCII bytes of "esa/2 " and the name of the use.

    No name of a use begins another one, or what follows has one length.

    >>> label("slot")
    b'esa/2 slot'
    """
    return b"esa/2 " + use.encode("ascii")
