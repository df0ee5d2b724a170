"""A job: what to compute of a partition, and how to put two results together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, Generic, Protocol, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from smoothdp.errors import InvalidData

Part = TypeVar("Part")
Partition: TypeAlias = Sequence[NDArray[Any]]
"""Some rows: one array per column, of equal lengths. Any split of the rows will do."""


@dataclass(frozen=True)
class Job(Generic[Part]):
    """``of`` must be deterministic: an engine may run it again. ``merge`` is associative.

    Both must be picklable, and a merge must not change its arguments. ``nothing`` is the part of
    no rows: a job without one is refused where there are no partitions.
    """

    of: Callable[[Partition], Part]
    merge: Callable[[Part, Part], Part]
    nothing: Part | None = None


class Run(Protocol):
    """Runs a job over all partitions of some columns."""

    def __call__(self, job: Job[Part], /) -> Part:
        """Return the merged result."""


def run_here(partitions: Iterable[Partition]) -> Run:
    """Return a run over partitions that are here, one after the other.

    >>> run = run_here([[np.array([1, 2])], [np.array([3])]])
    >>> run(Job(lambda columns: int(columns[0].sum()), lambda a, b: a + b))
    6
    """
    kept = [[np.asarray(column) for column in columns] for columns in partitions]

    def run(job: Job[Part], /) -> Part:
        return merged((job.of(columns) for columns in kept), job)

    return run


def merged(parts: Iterable[Part], job: Job[Part]) -> Part:
    """Return the parts put together.

    Raises:
        InvalidData: there is none, and the job has no part of no rows.
    """
    results = list(parts)
    if not results and job.nothing is not None:
        return job.nothing
    if not results:
        raise InvalidData(
            expected="at least one partition", got="none", remedy="Check that the data have rows"
        )
    return reduce(job.merge, results)
