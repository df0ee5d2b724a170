"""A quantile, or the mean of a short window around it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from smoothdp.errors import InvalidParameter
from smoothdp.exact.parameters.numbers import Parameter, exact_fraction
from smoothdp.queries.many.half_shifted import HalfShifted, whole_window
from smoothdp.queries.private_size.padded_window import PaddedWindow
from smoothdp.queries.read_arguments import bounds_text, check_room, read_bounds, read_window
from smoothdp.sources import Source


@dataclass(frozen=True)
class Quantile(HalfShifted):
    """The order statistic of rank r = floor(q (n - 1) + 1/2) + 1, counted from 1.

    With a window, the mean of the w order statistics centred on it: a release of it is 2 to 25
    times more accurate. None means 1 here; `plan` and `release` put a window in its place that
    depends on n, the bounds and the guarantee alone.

    Source: paper 2, Proposition 40, for windows that need not be in the middle:
    proofs/windows-around-the-rank#3.

    Args:
        q: from 0 (the minimum) to 1 (the maximum).
        bounds: (a, b), a < b; values are clamped to it. Fixed without looking at the data.
        window: w, or None: odd where the number of records is public, any w > 0 where it is
            private.

    Raises:
        InvalidParameter: q outside [0, 1], bounds that are no finite interval, a window of 0 or
            less; an even one where n is public (when data are given).
        InvalidData: a window that is wider than the shorter side allows (when data are given).

    >>> Quantile("0.9", bounds=(0, 100)).value(range(1, 12))
    10.0
    """

    source: ClassVar[Source] = Source("bun-steinke-averages", "Proposition 40")
    q: Fraction
    window: int | Fraction | None = None

    def __init__(
        self, q: Parameter, *, bounds: object, window: int | Fraction | None = None
    ) -> None:
        level = exact_fraction(q, name="q")
        if not 0 <= level <= 1:
            raise InvalidParameter(
                expected="q between 0 and 1", got=f"q={q}", remedy="Give 0.9 for the 90% quantile"
            )
        object.__setattr__(self, "q", level)
        object.__setattr__(self, "bounds", read_bounds(bounds))
        object.__setattr__(self, "window", read_window(window))

    def rank(self, n_records: int) -> int:
        """Return r = floor(q (n - 1) + 1/2) + 1, in exact arithmetic.

        >>> Quantile(0.5, bounds=(0, 1)).rank(4)
        3
        """
        return math.floor(self.q * (n_records - 1) + Fraction(1, 2)) + 1

    def drops(self, n_records: int) -> tuple[int, int]:
        rank = self.rank(n_records)
        room = 2 * min(rank - 1, n_records - rank) + 1
        window = check_room(self.window or 1, room, n_records)
        return rank - 1 - window // 2, n_records - rank - window // 2

    def doubled_rank(self, n_records: int) -> int:
        return 2 * self.rank(n_records)

    def window_or(self, default: int) -> int:
        return whole_window(self.window, default)

    def with_private_size(self, *, n_guess: Parameter | None = None) -> PaddedWindow:
        del n_guess
        return PaddedWindow(self.q, bounds=self.bounds, width=self.window or 1)

    def describe(self) -> str:
        width = float(self.window or 1)
        around = f" (mean of {width:g} values around it)" if width != 1 else ""
        return f"quantile {float(self.q):g}{around}, values clamped to {bounds_text(self.bounds)}"
