"""Where the density of a law has a kink, in the coordinates of the pieces."""

from __future__ import annotations

import math

from smoothdp.exact.balls.balls import ball, round_down, round_up
from smoothdp.exact.balls.special import Ball
from smoothdp.noise.offset import Offset
from smoothdp.noise.pieces import Left, Middle, Piece


def kink_gaps(offset: Offset, piece: Piece) -> list[tuple[float, float]]:
    """Return disjoint short intervals of a piece's coordinate that contain its kinks, sorted."""
    gaps = []
    for kink in offset.law._kinks():
        own = ball(kink)
        copied = own * offset.dilation.exp()
        for x in (own, -own, offset.shift + copied, offset.shift - copied):
            if _inside(piece, x):
                gaps.append(_around(piece.coordinate(x)))
    gaps.sort()
    merged: list[tuple[float, float]] = []
    for low, high in gaps:
        if merged and low <= merged[-1][1]:
            merged[-1] = merged[-1][0], max(high, merged[-1][1])
        else:
            merged.append((low, high))
    return merged


def _inside(piece: Piece, x: Ball) -> bool:
    """Return whether a point belongs to a piece; one that may be its end does not."""
    if isinstance(piece, Left):
        return bool(x < 0)
    if isinstance(piece, Middle):
        return bool(x > 0) and bool(x < piece.shift)
    return bool(x > piece.shift)


def _around(u: Ball) -> tuple[float, float]:
    return round_down(u), math.nextafter(round_up(u), math.inf)
