"""Histograms grouped by the value of a function, and the law of that value."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import NamedTuple

import numpy as np

from smoothdp.errors import InvalidData, explain
from smoothdp.exact.logspace.bounds import LIBM_ERROR, UNIT_ROUNDOFF
from smoothdp.mechanisms.finite_law import OutputLaw
from smoothdp.mechanisms.sample.sample_law import largest_magnitude
from smoothdp.types import FloatArray, IntArray

# Sums run over blocks of this many terms and then over blocks: fewer roundings.
_BLOCK = 1024


class Grouping(NamedTuple):
    """Histograms (columns) sorted by output, and where each output's columns begin."""

    outputs: tuple[Hashable, ...]
    histograms: IntArray
    starts: IntArray

    @classmethod
    def by(cls, function: Callable[[tuple[int, ...]], Hashable], histograms: IntArray) -> Grouping:
        """Group by the function's value; outputs come in the order of their first histogram.

        Raises:
            InvalidData: an output that cannot be hashed.
        """
        places: dict[Hashable, int] = {}
        group = np.empty(histograms.shape[1], dtype=np.int64)
        for column, histogram in enumerate(histograms.T.tolist()):
            output = check_hashable(function(tuple(histogram)))
            group[column] = places.setdefault(output, len(places))
        order = np.argsort(group, kind="stable")
        starts = np.searchsorted(group[order], np.arange(len(places)))
        return cls(tuple(places), histograms[:, order], starts)

    def sums(self, law: OutputLaw) -> OutputLaw:
        """Return ln of the probability of each output, from those of the histograms.

        Terms are positive. In units of roundoff: a term e^-d of the largest is moved by d
        by its shift, which is at most 20 on the average over 1e8 terms; one unit for each
        sum; exp and ln (of at most 1e8 terms, so at most 19) are within 4 ulp.
        """
        logs = law.log_values
        sizes = np.diff(np.append(self.starts, logs.size))
        tops = np.maximum.reduceat(logs, self.starts)
        safe = np.where(np.isfinite(tops), tops, 0.0)
        sums, n_sums = _block_sums(np.exp(logs - np.repeat(safe, sizes)), self.starts, sizes)
        with np.errstate(divide="ignore"):
            values = safe + np.log(sums)
        rounding = (22 + n_sums + largest_magnitude(values)) * UNIT_ROUNDOFF + 20 * LIBM_ERROR
        return OutputLaw(values, law.error + 1.01 * rounding)


def _block_sums(terms: FloatArray, starts: IntArray, sizes: IntArray) -> tuple[FloatArray, int]:
    """Return the sums of runs of terms, and the most additions that any term goes through."""
    blocks = -(-sizes // _BLOCK)
    first = np.cumsum(blocks) - blocks
    within = np.arange(int(blocks.sum())) - np.repeat(first, blocks)
    parts = np.add.reduceat(terms, np.repeat(starts, blocks) + within * _BLOCK)
    return np.add.reduceat(parts, first), min(_BLOCK, int(sizes.max())) + int(blocks.max())


def check_hashable(output: Hashable) -> Hashable:
    """Return the output of a function, or raise InvalidData if it cannot be hashed."""
    try:
        hash(output)
    except TypeError:
        raise InvalidData(
            explain(
                "a function whose outputs can be hashed",
                f"a {type(output).__name__}",
                "Return numbers, text or tuples, such as tuple(values) in place of a list",
            )
        ) from None
    return output
