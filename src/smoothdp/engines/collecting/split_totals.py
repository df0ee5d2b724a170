"""The total of a `SplitSum`: what all users' shares add up to modulo q, which is all it tells."""

from __future__ import annotations

from dataclasses import dataclass
from operator import add

from smoothdp.engines.collecting.marked_rows import MarkedRows
from smoothdp.engines.collection import Marked, MarkRows, read_rows
from smoothdp.engines.job import Job, Partition, Run
from smoothdp.engines.keyed_random import KeyedRandom
from smoothdp.shuffle import SplitSum


@dataclass(frozen=True, slots=True, eq=False)
class _Total:
    """A total modulo q, and the mark of the rows that it was made of."""

    total: int
    modulus: int
    rows: Marked

    def __add__(self, other: _Total) -> _Total:
        total = (self.total + other.total) % self.modulus
        return _Total(total, self.modulus, self.rows + other.rows)


@dataclass(frozen=True)
class _AddUp:
    """A user's number with its rounding and noise; the shares that only split it are not drawn."""

    protocol: SplitSum
    marks: MarkRows
    collection: bytes

    def __call__(self, columns: Partition) -> _Total:
        users, data = columns
        names, units = users.tolist(), read_rows(self.protocol, data)
        total = 0
        for index, user in enumerate(names):
            rng = KeyedRandom(self.marks.key, collection=self.collection, user=user)
            total += self.protocol.noisy_number(units[index : index + 1], rng=rng)
        modulus = self.protocol.modulus
        return _Total(total % modulus, modulus, self.marks.mark(names, units))


def split_total(run: Run, rows: MarkedRows[SplitSum]) -> int:
    """Return the total modulo q of what all users send."""
    found: _Total = run(Job(_AddUp(rows.protocol, rows.marks, rows.noise_name()), add))
    rows.require_same(found.rows.data_mark)
    return found.total
