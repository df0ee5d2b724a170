"""Counts per category, or per category and stratum: all that Measure needs of a column."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

from smoothdp.engines.job import Job, Partition, Run
from smoothdp.errors import InvalidData, OutOfReach

MOST_CATEGORIES = 10_000_000


@dataclass(frozen=True)
class _Count:
    most: int

    def __call__(self, columns: Partition) -> Counter[tuple[Any, ...]]:
        lists = [column.tolist() for column in columns]
        return self.check(Counter(zip(*lists, strict=True)))

    def add(
        self, a: Counter[tuple[Any, ...]], b: Counter[tuple[Any, ...]]
    ) -> Counter[tuple[Any, ...]]:
        return self.check(a + b)

    def check(self, counts: Counter[tuple[Any, ...]]) -> Counter[tuple[Any, ...]]:
        if len(counts) > self.most:
            raise OutOfReach(
                expected=f"at most {self.most} categories",
                got="more",
                remedy="Group rare categories into one first",
            )
        return counts


def category_counts(
    run: Run, *, strata: bool = False, most_categories: int = MOST_CATEGORIES
) -> dict[Any, Any]:
    """Return category -> records, or stratum -> category -> records with ``strata``.

    For `measure_histogram` and `StratifiedHistogram`. As private as the data.

    Args:
        run: over the column of categories, or over strata and categories.

    Raises:
        InvalidData: a missing category or stratum.
        OutOfReach: more categories than fit one machine.

    >>> import numpy as np
    >>> from smoothdp.engines import run_here
    >>> category_counts(run_here([[np.array(["a", "b"])], [np.array(["a"])]]))
    {'a': 2, 'b': 1}
    """
    work = _Count(most_categories)
    counts = run(Job(work, work.add))
    for key in counts:
        if any(part is None or part != part for part in key):
            raise InvalidData(
                expected="a category in every row",
                got="missing ones",
                remedy="Write a name into those rows, such as 'unknown'",
            )
    ordered = sorted(counts.items(), key=lambda item: tuple(map(str, item[0])))
    if not strata:
        return {category: n for (category,), n in ordered}
    table: dict[Any, dict[Any, int]] = {}
    for (stratum, category), n in ordered:
        table.setdefault(stratum, {})[category] = n
    return table
