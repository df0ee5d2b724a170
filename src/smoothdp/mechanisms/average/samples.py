"""What the search for the worst neighbour asks of the sums around one database.

A neighbour takes out a record of value v and puts in one of value w. With y the records that
both databases share, the weight of a sum splits by whether the record is drawn:
N P(s) = kept(s) + drawn_v(s) and N P'(s) = kept(s) + drawn_w(s) (notes A5, A10).
"""

from __future__ import annotations

from typing import Protocol

from smoothdp.exact.logspace.bounds import LogBounds
from smoothdp.mechanisms.average.law import Bracket
from smoothdp.types import FloatArray


class Shared(Protocol):
    """Weights of the samples around the records shared with a neighbour, all positive."""

    @property
    def error(self) -> float:
        """Bound the relative error of every positive weight."""

    @property
    def kept(self) -> FloatArray:
        """Return the weights of the samples of the shared records alone."""

    def drawn(self, value: int) -> FloatArray:
        """Return the weights of the samples that hold the one more record."""


class Outline(Protocol):
    """Bounds of the same weights, cheaper, for all neighbours without one value v."""

    @property
    def own(self) -> Bracket:
        """Return bounds of drawn_v."""

    def floor(self, low: int, high: int) -> FloatArray:
        """Return lower bounds of drawn_w that hold for all w in [low, high]."""

    def added(self, low: int, high: int, cost: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return (a, b) with sum (drawn_w - cost)_+ <= sum (a - b)_+ for w in [low, high]."""


class SampleSums(Protocol):
    """The sums of the samples of one database; every array has one common length.

    ``present`` lists the values of the records, each once, in rising order.
    """

    present: tuple[int, ...]
    whole: FloatArray
    error: float
    log_total: LogBounds

    def by_sum(self) -> FloatArray:
        """Return the weight of each sum 0, 1, ..., n_draws times the largest value."""

    def shared(self, removed: int) -> Shared:
        """Return exact weights without a record of this value."""

    def outline(self, removed: int) -> Outline:
        """Return bounds of them."""

    def key(self, removed: int, added: int) -> int:
        """Return what `inserted` depends on."""

    def inserted(self, key: int) -> FloatArray:
        """Return upper bounds of drawn_w, valid for every removed value with this key."""

    def own_floor(self) -> FloatArray:
        """Return lower bounds of drawn_v, valid for every removed value."""
