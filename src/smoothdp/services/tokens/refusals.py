"""The one error of tokens: nothing made from what was refused may be sent."""

from __future__ import annotations

from smoothdp.errors import InvalidData


class TokenRefused(InvalidData):
    """A key, a request, an answer or a token that is not what it must be.

    A client that meets it takes no part in the window: nothing is sent to the shuffler.
    """
