"""The sampler that opens sealed cells: a cell by a lazy uniform number, then a point of it."""

from __future__ import annotations

from fractions import Fraction

from smoothdp.claims.open_sealed import opened
from smoothdp.claims.sealed import Sealed
from smoothdp.exact.balls.special import Ball
from smoothdp.exact.random.entropy import Entropy
from smoothdp.exact.random.lazy import DrawFunction, LazyLaw, RoundedDraws
from smoothdp.exact.random.masses import drawn_cell
from smoothdp.mechanisms.quantiles.exponential.cells import Cells


def _uniform_draw() -> DrawFunction:
    def draw(positive: bool, u: Ball) -> Ball:
        del positive
        return u

    return draw


UNIFORM = LazyLaw(1, _uniform_draw)
"""The uniform law on [0, 1]."""


def drawn_step(
    cells: Sealed[Cells], *, step: Fraction, limits: tuple[int, int], rng: Entropy
) -> int:
    """Return the multiple of ``step`` nearest to a draw of the density that cells have.

    Exactly in law (proofs/exponential-quantile#4): bits are drawn until the cell is certain, and
    then until the nearest multiple is.

    Args:
        cells: sealed. step: of the grid. limits: the least and the largest result.
    """
    column = opened(cells)
    bits, place = drawn_cell(lambda bits: column.table(bits).masses, rng)
    low, high = column.table(bits).edges[place : place + 2]
    draws = RoundedDraws(
        UNIFORM,
        centre=low.value / step,
        factor=(high.value - low.value) / step,
        decay=Fraction(0),
        lowest=limits[0],
        highest=limits[1],
    )
    return draws.draw(rng)
