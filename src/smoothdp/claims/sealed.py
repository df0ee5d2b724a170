"""What was computed from private data, before a sampler has drawn from it.

A half-width taken from such a number without noise once published the smallest income of a
file. So it gets a type that cannot leave by mistake: no text, no number, no comparison, no
JSON, no copy. The contents are read by `smoothdp.claims.open_sealed` alone, and a contract in
``pyproject.toml`` names the samplers that may import it (proofs/the-released-number#2).
"""

from __future__ import annotations

from typing import Generic, NoReturn, SupportsIndex, TypeVar

from smoothdp.errors import SmoothdpError

Content = TypeVar("Content")


class StillSealed(SmoothdpError, TypeError):
    """A value computed from private data was about to be shown, compared or stored."""


class Sealed(Generic[Content]):
    """A private value: a sampler can draw from it, nothing else can be done with it.

    Raises:
        StillSealed: text, a number, a truth value, an order, equality, a hash, a copy or JSON
            is asked of it.

    >>> secret = Sealed(13.742)
    >>> secret
    Sealed(private)
    >>> float(secret)
    Traceback (most recent call last):
    ...
    smoothdp.claims.sealed.StillSealed: Expected a sampler to draw from it first; got ...
    """

    __slots__ = ("__content",)

    def __init__(self, content: Content) -> None:
        self.__content = content

    def __repr__(self) -> str:
        # One text for every content, so that a traceback can show it.
        return "Sealed(private)"

    def _refuse(self, *_: object) -> NoReturn:
        raise StillSealed(
            expected="a sampler to draw from it first",
            got="a value computed from private data, used as it is",
            remedy="Release it with noise; for public data call the query's own methods",
        )

    def __format__(self, spec: str) -> NoReturn:
        self._refuse(spec)

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        self._refuse(protocol)

    __float__ = __int__ = __index__ = __complex__ = __bool__ = __bytes__ = __str__ = _refuse
    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = _refuse
    __len__ = __iter__ = __getitem__ = __contains__ = __round__ = __trunc__ = _refuse
    __hash__ = _refuse
    __copy__ = __deepcopy__ = _refuse
