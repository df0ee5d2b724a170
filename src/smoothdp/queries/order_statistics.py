"""Order statistics by selection: only the pieces that are asked for get sorted."""

from __future__ import annotations

from collections.abc import Sequence

from smoothdp.queries.reading import Values


class OrderStatistics:
    """A private copy of a column, put in order piece by piece.

    Positions count from 0 in ascending order. `arrange` costs O(n) and the sorting of its
    pieces; afterwards ``values[start:stop]`` of a piece is sorted, and what lies between two
    pieces is the right set of values in any order.
    """

    __slots__ = ("values",)

    def __init__(self, values: Values) -> None:
        self.values = values.copy()

    def __len__(self) -> int:
        return len(self.values)

    def arrange(self, pieces: Sequence[tuple[int, int]]) -> None:
        """Sort the pieces [start, stop) in place; they may overlap."""
        merged: list[tuple[int, int]] = []
        for start, stop in sorted(pieces):
            if merged and start <= merged[-1][1]:
                merged[-1] = (merged[-1][0], max(stop, merged[-1][1]))
            else:
                merged.append((start, stop))
        if merged == [(0, len(self))]:
            self.values.sort()
            return
        self.values.partition(sorted({i for a, b in merged for i in (a, b - 1)}))
        for start, stop in merged:
            self.values[start:stop].sort()
