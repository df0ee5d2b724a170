"""How far from its level a cell must be looked for: by the weight that is known already."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from smoothdp.mechanisms.quantiles.joint.cells import Cells
from smoothdp.mechanisms.quantiles.joint.chain_tables import ChainTables

RARE_BITS = 64
"""Cells outside the bands are looked for in one attempt of 2^64."""

_FIRST_REACH = 20.0


def enough_tables(
    cells: Cells, *, targets: Sequence[Fraction], rate: Fraction, rare_bits: int = RARE_BITS
) -> ChainTables:
    """Return tables so wide that uniform points cover the weight of all they leave out.

    Outside the bands some c_j is more than ``reach`` from n q_j, and the exponent at least
    2 rate reach. So e^(-2 rate reach) (b - a)^m / m! <= e^bound / (2^rare_bits - 1) suffices, with
    e^bound the largest ratio of weight to chance inside (proofs/joint-quantiles#9).

    Args:
        cells: of the column. targets: n q_j. rate: > 0.
        rare_bits: how rarely cells are looked for outside.
    """
    log_lengths, slope = cells.log_lengths(), float(rate)
    reach = min(len(log_lengths), math.ceil(min(_FIRST_REACH / slope, 1e9)) + 2)
    while True:
        tables = ChainTables(log_lengths, tuple(targets), slope, reach)
        if tables.is_whole:
            return tables
        if tables.log_total == -math.inf:
            needed = 2 * reach
        else:
            bound = tables.log_total + tables.slack
            lower, upper = cells.bounds
            m, size = len(targets), upper - lower
            log_size = math.log(size.numerator) - math.log(size.denominator)
            # 1 to spare for what is rounded here.
            excess = m * log_size - math.lgamma(m + 1) - bound + rare_bits * math.log(2) + 1
            needed = math.ceil(max(0.0, excess) / (2 * slope)) + 1
        if needed <= reach:
            return tables
        reach = min(max(needed, reach + 1), len(log_lengths))
