"""A demonstration's estimates beside the truth."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from smoothdp.exact.parameters.numbers import exact_fraction
from smoothdp.services.demo.demonstration import Demonstration
from smoothdp.services.formats.design.protocols import BINNED
from smoothdp.text import number_up, percent_text, table

_ROWS = 10


def compare(demonstration: Demonstration, data: Sequence[Any]) -> str:
    """Return the estimates beside the truth, which only a demonstration knows.

    Args:
        demonstration: what `demonstrate` returned.
        data: what it was given.

    Raises:
        InvalidParameter: data that are no numbers where numbers were collected.

    >>> demonstration = demonstrate([1, 0, 0] * 100)  # doctest: +SKIP
    >>> print(compare(demonstration, [1, 0, 0] * 100))  # doctest: +SKIP
         estimate  95% error  truth
    ---  --------  ---------  -----
    sum  97.2          +- 18    100
    The error covers the sum, of these users: the noise alone. The truth is shown because ...
    """
    document, task = demonstration.document, demonstration.task
    sure = 1 - Fraction(document["error_fails_with_probability"])
    if task.protocol in BINNED:
        counts, true = document["counts"], Counter(str(datum) for datum in data)
        error = document["error_of_all_counts"]
        names = sorted({*counts, *true}, key=lambda name: (-true[name], name))[:_ROWS]
        rows = [(name, counts.get(name, 0.0), float(true[name])) for name in names]
        covers = "all counts at once, those not listed too"
    elif task.bounds:
        low, high = (Fraction(bound) for bound in task.bounds)
        clipped = [min(max(exact_fraction(x, name="a datum"), low), high) for x in data]
        rows = [("mean", document["mean"], float(sum(clipped) / len(clipped)))]
        error, covers = document["error_of_mean"], "the mean of the clipped values"
    else:
        rows = [("sum", document["sum"], float(sum(int(datum) for datum in data)))]
        error, covers = document["error_of_sum"], "the sum"
    lines = [
        (name, f"{value:.6g}", f"+- {number_up(error)}", f"{truth:.6g}")
        for name, value, truth in rows
    ]
    return (
        f"{table(lines, header=('', 'estimate', f'{percent_text(float(sure))} error', 'truth'))}\n"
        f"The error covers {covers}, of these users: the noise alone. The truth is shown because "
        "the data are on this machine; in earnest nobody knows it."
    )
