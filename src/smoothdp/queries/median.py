"""The median, or the mean of a short window around it."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from smoothdp.exact.parameters.numbers import Parameter
from smoothdp.queries.many.half_shifted import HalfShifted, whole_window
from smoothdp.queries.private_size.padded_window import PaddedWindow
from smoothdp.queries.read_arguments import bounds_text, check_room, read_bounds, read_window
from smoothdp.sources import Source


@dataclass(frozen=True)
class Median(HalfShifted):
    """The median: the middle value, or the mean of the two middle values if n is even.

    With a window, the mean of the w middle values (w + 1 if n is even): a release of it is 2 to
    25 times more accurate than of one order statistic. None means 1 here; `plan` and `release`
    put a window in its place that depends on n, the bounds and the guarantee alone.

    Source: paper 2, Proposition 40 with n - 2m = w; proofs/windows-around-the-rank#3, #4.

    Args:
        bounds: (a, b), a < b; values are clamped to it. Fixed without looking at the data.
        window: w, or None: odd where the number of records is public, any w > 0 where it is
            private.

    Raises:
        InvalidParameter: bounds that are no finite interval, a window of 0 or less;
            an even one where n is public (when data are given).
        InvalidData: a window of more values than there are (when data are given).

    >>> Median((0, 10)).value([5, 1, 9, 2])
    3.5
    >>> Median((0, 10), window=3).value([5, 1, 9, 2, 3])
    3.3333333333333335
    """

    source: ClassVar[Source] = Source("bun-steinke-averages", "Proposition 40")
    window: int | Fraction | None = None

    def __init__(self, bounds: object, *, window: int | Fraction | None = None) -> None:
        object.__setattr__(self, "bounds", read_bounds(bounds))
        object.__setattr__(self, "window", read_window(window))

    def drops(self, n_records: int) -> tuple[int, int]:
        room = n_records if n_records % 2 else n_records - 1
        window = check_room(self.window or 1, room, n_records)
        return (n_records - window) // 2, (n_records - window) // 2

    def doubled_rank(self, n_records: int) -> int:
        return n_records + 1

    def window_or(self, default: int) -> int:
        return whole_window(self.window, default)

    def with_private_size(self, *, n_guess: Parameter | None = None) -> PaddedWindow:
        del n_guess
        return PaddedWindow(
            Fraction(1, 2), bounds=self.bounds, width=self.window or 1, name="median"
        )

    def describe(self) -> str:
        width = self.window or 1
        many = f"{float(width):g} middle values"
        if isinstance(width, int):
            many += f", {width + 1} if n is even"
        around = f" (mean of the {many})" if width > 1 else ""
        return f"median{around}, values clamped to {bounds_text(self.bounds)}"
