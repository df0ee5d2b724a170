"""The nearest whole number to ln(d) / h - shift + scale * Z, exactly: the logarithm is a ball."""

from __future__ import annotations

from fractions import Fraction

from flint import arb, fmpz

from smoothdp.exact.balls.balls import ball, precision
from smoothdp.exact.parameters.numbers import LogRatio
from smoothdp.exact.random.lazy import LazyLaw, RoundedDraws

_FIRST_LOOK = 256


class LogRoundedDraws(RoundedDraws):
    """Draws of the whole number nearest to slope (ln(ratio) - decay) + factor Z.

    As `RoundedDraws`, for a centre that is no rational number: it is enclosed anew at every
    precision that a draw needs (proofs/the-released-number#5).

    Args:
        law: the law of Z, continuous.
        ratio: a rational number > 0. decay: any rational number.
        slope: a rational number > 0: one over the step of the grid.
        factor: a rational number > 0.
        lowest, highest: results beyond them are replaced by them.

    >>> from smoothdp.exact.random.entropy import SeededRandom
    >>> from smoothdp.exact.random.lazy import LazyLaw, standard_normal
    >>> normal = LazyLaw(2, lambda: lambda positive, u, v: standard_normal(u, v))
    >>> draws = LogRoundedDraws(normal, ratio=Fraction(1, 10), decay=Fraction(5),
    ...     slope=Fraction(1000), factor=Fraction(1, 100), lowest=-10**9, highest=10**9)
    >>> draws.draw(SeededRandom(1))  # 1000 (ln(1/10) - 5) = -7302.6
    -7303
    """

    __slots__ = ("_log_decay", "_ratio", "_reference", "_slope")

    def __init__(
        self,
        law: LazyLaw,
        *,
        ratio: Fraction,
        decay: Fraction,
        slope: Fraction,
        factor: Fraction,
        lowest: int,
        highest: int,
    ) -> None:
        self._ratio, self._log_decay, self._slope = ratio, decay, slope
        # Any whole number near the centre will do: borders are measured from it.
        with precision(_FIRST_LOOK):
            near = self._log().mid().floor().unique_fmpz()
        self._reference = 0 if near is None else int(near)
        super().__init__(
            law,
            centre=Fraction(self._reference),
            factor=factor,
            decay=Fraction(0),
            lowest=lowest,
            highest=highest,
        )

    def _log(self) -> arb:
        return (ball(LogRatio(self._ratio)) - ball(self._log_decay)) * ball(self._slope)

    def _offset(self) -> arb:
        """Return the centre plus 1/2 less the whole number that results are counted from."""
        return self._log() + ball(Fraction(1, 2)) - arb(fmpz(self._whole))
