"""How a sampler reads a sealed value. A contract on imports names the few files that may."""

from __future__ import annotations

from typing import TypeVar, cast

from smoothdp.claims.sealed import Sealed

Content = TypeVar("Content")


def opened(sealed: Sealed[Content]) -> Content:
    """Return the private content: only for drawing from it with noise.

    >>> opened(Sealed(3))
    3
    """
    return cast("Content", object.__getattribute__(sealed, "_Sealed__content"))
