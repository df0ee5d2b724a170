"""What a median or a quantile has beside a window of ranks: one that half ranks can move."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass

from smoothdp.errors import InvalidParameter
from smoothdp.exact.parameters.numbers import Parameter, exact_int
from smoothdp.queries.many.half_shift import HalfShiftColumn, HalfShiftWindow, default_reach
from smoothdp.queries.query import Query
from smoothdp.queries.read_arguments import read_smoothing, read_values
from smoothdp.queries.sensitivity.candidates import log_decayed


@dataclass(frozen=True)
class HalfShifted(Query):
    """A statistic at a rank, with its value and smooth sensitivity at a half shift.

    The methods are as private as the data: for public data, studies and tests. A release draws
    the half shift and keeps it (`smoothdp.mechanisms.HalfShift`).

    Source: proofs/half-shift#1.
    """

    @abstractmethod
    def doubled_rank(self, n_records: int) -> int:
        """Return twice the rank that a window of half ranks is centred on."""

    @abstractmethod
    def window_or(self, default: int) -> int:
        """Return the window that the caller gave, in whole ranks, or a default.

        Raises:
            InvalidParameter: a window of broken ranks.
        """

    def half_shift_value(self, data: object, *, half_shift: int) -> float:
        """Return the mean of the doubled data in a window moved by half ranks.

        Args:
            data: the column. half_shift: h, by how many half ranks.

        >>> from smoothdp.queries import Median
        >>> Median((0, 30)).half_shift_value([1, 2, 4, 7, 11, 16, 22], half_shift=1)
        9.0
        """
        shift = exact_int(half_shift, name="half_shift", minimum=-(1 << 60))
        values = read_values(data)
        # A value asks for no smoothing; any window of the same cells has it.
        window = HalfShiftWindow(self.doubled_rank(len(values)), self.window_or(1), _ANY, 0)
        column = HalfShiftColumn(values, self.bounds)
        column.arrange([(window, shift)])
        return float(column.value(window, shift))

    def log_half_shift_sensitivity(
        self,
        data: object,
        *,
        half_shift: int,
        smoothing: Parameter,
        reach: int | None = None,
    ) -> float:
        """Return ln S at a half shift, rounded up.

        S = max over 0 <= k <= K of e^(-t k) A_k, and e^(-t K) (b - a) / W, with A_k the largest
        difference of doubled data W apart and k cells further out on each side, over W.

        Args:
            data: the column. half_shift: h. smoothing: t > 0.
            reach: K >= 0; None: ceil(40 / t).

        >>> from smoothdp.queries import Median
        >>> data = [1, 2, 4, 7, 11, 16, 22]
        >>> Median((0, 30)).log_half_shift_sensitivity(data, half_shift=0, smoothing="1/10")
        2.074148649426529
        """
        rate = read_smoothing(smoothing)
        shift = exact_int(half_shift, name="half_shift", minimum=-(1 << 60))
        far = default_reach(rate) if reach is None else exact_int(reach, name="reach", minimum=0)
        values = read_values(data)
        window = HalfShiftWindow(self.doubled_rank(len(values)), self.window_or(1), rate, far)
        column = HalfShiftColumn(values, self.bounds)
        column.arrange([(window, shift)])
        k, difference = column.largest(window, shift)
        return log_decayed((k, difference / window.cells), rate).upper


_ANY = read_smoothing(1)


def whole_window(window: object, default: int) -> int:
    """Return a window as a whole number of ranks, the default for None."""
    if window is None:
        return default
    if isinstance(window, int):
        return window
    raise InvalidParameter(
        expected="a window of whole ranks for a half shift",
        got=f"window={window}",
        remedy="Give a whole number, or leave it out",
    )
