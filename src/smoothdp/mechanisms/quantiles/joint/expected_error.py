"""The error of the joint exponential mechanism at public data, exact but for floats."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from smoothdp.mechanisms.quantiles.joint.cells import Cells
from smoothdp.mechanisms.quantiles.joint.chain_tables import ChainTables
from smoothdp.mechanisms.quantiles.joint.needed_reach import enough_tables


def expected_mean_square(
    cells: Cells, *, targets: Sequence[Fraction], rate: Fraction, aims: Sequence[float]
) -> float:
    """Return the mean over j of E (v_j - aim_j)^2, v_1 <= ... <= v_m the released points.

    A run of k points of levels l + 1, ..., l + k in cell i has the weight G_l(i) d^k / k! ...
    times the sum over what follows, which is G of the mirrored data. Its points are the order
    statistics of k uniform ones: the r-th has mean r / (k + 1) and mean square
    r (r + 1) / ((k + 1)(k + 2)) (proofs/joint-quantiles#8).

    Args:
        cells: of the data. targets: n q_j. rate: epsilon / 4. aims: one for each level.
    """
    tables = enough_tables(cells, targets=targets, rate=rate)
    n, m = tables.n_records, tables.n_levels
    mirrored = ChainTables(
        tables.log_lengths[::-1],
        tuple(n - target for target in reversed(tables.targets)),
        tables.rate,
        tables.reach,
    )
    before, after = tables.tables[0], mirrored.tables[0]
    ends = cells.lower_ends()
    total = 0.0
    for level in range(1, m + 1):
        low, high = tables.bands[level - 1]
        # The band of a level in the mirror is the mirrored band: cell i is n - i.
        following = after[m - level][::-1]
        for k in range(1, tables.longest_run(level) + 1):
            first, last = tables.bands[level - k]
            stop = min(high, last)
            begun = before[level - k][low - first : stop + 1 - first]
            lengths = tables.log_lengths[low : stop + 1]
            log_weight = begun + k * lengths + following[: stop + 1 - low]
            log_weight += tables.run_log_weight(level, k) - tables.log_total
            chance, size = np.exp(log_weight), np.exp(lengths)
            start = ends[low : stop + 1]
            for r in range(1, k + 1):
                away = start - aims[level - k + r - 1]
                mean, square = r / (k + 1), r * (r + 1) / ((k + 1) * (k + 2))
                errors = away * away + 2 * away * size * mean + size * size * square
                total += float(np.sum(chance * errors))
    return total / m
